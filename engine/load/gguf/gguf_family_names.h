// SPDX-License-Identifier: Apache-2.0
// Maps the tensor names of GGUF files to the names in each family's own files.
// Source: llama.cpp, gguf-py/gguf/tensor_mapping.py.
#pragma once

#include <algorithm>
#include <array>

#include "engine/load/gguf/gguf_families.h"

namespace lathe::engine {

template <std::size_t n, std::size_t m>
constexpr std::array<GgufName, n + m> joined_names(const std::array<GgufName, n>& first,
                                                   const std::array<GgufName, m>& others) {
  std::array<GgufName, n + m> all{};
  std::copy(others.begin(), others.end(), std::copy(first.begin(), first.end(), all.begin()));
  return all;
}

/// Tensors outside the layers.
inline constexpr std::array kUsualEnds = {
    GgufName{"token_embd.", "model.embed_tokens."},
    GgufName{"output_norm.", "model.norm."},
    GgufName{"output.", "lm_head."},
    GgufName{"cls.output.", "score."},
};

inline constexpr std::array kUsualNames = {
    GgufName{"attn_norm.", "input_layernorm."},    GgufName{"ffn_norm.", "post_attention_layernorm."},
    GgufName{"attn_q.", "self_attn.q_proj."},      GgufName{"attn_k.", "self_attn.k_proj."},
    GgufName{"attn_v.", "self_attn.v_proj."},      GgufName{"attn_output.", "self_attn.o_proj."},
    GgufName{"attn_qkv.", "self_attn.qkv_proj."},  GgufName{"attn_q_norm.", "self_attn.q_norm."},
    GgufName{"attn_k_norm.", "self_attn.k_norm."}, GgufName{"ffn_gate.", "mlp.gate_proj."},
    GgufName{"ffn_up.", "mlp.up_proj."},           GgufName{"ffn_down.", "mlp.down_proj."},
};

inline constexpr std::array kNormsBehind = {
    GgufName{"post_attention_norm.", "post_attention_layernorm."},
    GgufName{"post_ffw_norm.", "post_feedforward_layernorm."},
};

inline constexpr std::array kNormsAround = {
    GgufName{"post_attention_norm.", "post_attention_layernorm."},
    GgufName{"ffn_norm.", "pre_feedforward_layernorm."},
    GgufName{"post_ffw_norm.", "post_feedforward_layernorm."},
};

inline constexpr std::array kGemma4Names = {
    GgufName{"post_attention_norm.", "post_attention_layernorm."},
    GgufName{"ffn_norm.", "pre_feedforward_layernorm."},
    GgufName{"post_ffw_norm.", "post_feedforward_layernorm."},
    GgufName{"layer_output_scale.weight", "layer_scalar"},
    GgufName{"inp_gate.", "per_layer_input_gate."},
    GgufName{"proj.", "per_layer_projection."},
    GgufName{"post_norm.", "post_per_layer_input_norm."},
    GgufName{"ffn_gate_inp.scale", "router.scale"},
    GgufName{"ffn_gate_inp.", "router.proj."},
    GgufName{"ffn_down_exps.scale", "router.per_expert_scale"},
    GgufName{"ffn_gate_up_exps.weight", "experts.{}.gate_up_proj"},
    GgufName{"ffn_down_exps.weight", "experts.{}.down_proj"},
    GgufName{"post_ffw_norm_1.", "post_feedforward_layernorm_1."},
    GgufName{"pre_ffw_norm_2.", "pre_feedforward_layernorm_2."},
    GgufName{"post_ffw_norm_2.", "post_feedforward_layernorm_2."},
};
inline constexpr std::array kGemma4Ends = {
    GgufName{"per_layer_token_embd.", "model.embed_tokens_per_layer."},
    GgufName{"per_layer_model_proj.", "model.per_layer_model_projection."},
    GgufName{"per_layer_proj_norm.", "model.per_layer_projection_norm."},
};

inline constexpr std::array kAltUpNames = {
    GgufName{"altup_correct_coef.", "altup.correction_coefs."},
    GgufName{"altup_correct_scale.weight", "altup.correct_output_scale"},
    GgufName{"altup_predict_coef.", "altup.prediction_coefs."},
    GgufName{"altup_router.", "altup.modality_router."},
    GgufName{"altup_router_norm.", "altup.router_norm."},
    GgufName{"laurel_l.", "laurel.linear_left."},
    GgufName{"laurel_r.", "laurel.linear_right."},
    GgufName{"laurel_post_norm.", "laurel.post_laurel_norm."},
};
inline constexpr auto kGemma3nNames = joined(kGemma4Names, kAltUpNames);
inline constexpr auto kGemma3nEnds =
    joined(kGemma4Ends, std::array{
                            GgufName{"altup_proj.", "model.altup_projections.{}."},
                            GgufName{"altup_unembd_proj.", "model.altup_unembed_projections.{}."},
                        });

inline constexpr std::array kGlm4Names = {
    GgufName{"post_attention_norm.", "post_self_attn_layernorm."},
    GgufName{"post_ffw_norm.", "post_mlp_layernorm."},
    GgufName{"ffn_up.", "mlp.gate_up_proj."},
};

inline constexpr std::array kGateWithUp = {GgufName{"ffn_up.", "mlp.gate_up_proj."}};

inline constexpr std::array kPhi2Names = {
    GgufName{"attn_output.", "self_attn.dense."},
    GgufName{"ffn_up.", "mlp.fc1."},
    GgufName{"ffn_down.", "mlp.fc2."},
};
inline constexpr std::array kPhi2Ends = {GgufName{"output_norm.", "model.final_layernorm."}};

inline constexpr std::array kStarCoder2Names = {
    GgufName{"ffn_up.", "mlp.c_fc."},
    GgufName{"ffn_down.", "mlp.c_proj."},
};

inline constexpr std::array kMixtralNames = {
    GgufName{"ffn_gate_inp.", "block_sparse_moe.gate."},
    GgufName{"ffn_gate_exps.", "block_sparse_moe.experts.{}.w1."},
    GgufName{"ffn_up_exps.", "block_sparse_moe.experts.{}.w3."},
    GgufName{"ffn_down_exps.", "block_sparse_moe.experts.{}.w2."},
};

inline constexpr std::array kQwenExpertNames = {
    GgufName{"ffn_gate_inp.", "mlp.gate."},
    GgufName{"ffn_gate_exps.", "mlp.experts.{}.gate_proj."},
    GgufName{"ffn_up_exps.", "mlp.experts.{}.up_proj."},
    GgufName{"ffn_down_exps.", "mlp.experts.{}.down_proj."},
};

inline constexpr std::array kGptOssNames = {
    GgufName{"attn_sinks.weight", "self_attn.sinks"},
    GgufName{"post_attention_norm.", "post_attention_layernorm."},
    GgufName{"ffn_gate_inp.", "mlp.router."},
    GgufName{"ffn_gate_exps.", "mlp.experts.{}.gate_proj."},
    GgufName{"ffn_up_exps.", "mlp.experts.{}.up_proj."},
    GgufName{"ffn_down_exps.", "mlp.experts.{}.down_proj."},
};

// ---- families whose layer prefix is not "model.layers."
inline constexpr std::array kGpt2Ends = {
    GgufName{"token_embd.", "transformer.wte."},
    GgufName{"position_embd.", "transformer.wpe."},
    GgufName{"output_norm.", "transformer.ln_f."},
};
inline constexpr std::array kGpt2Names = {
    GgufName{"attn_norm.", "ln_1."},          GgufName{"ffn_norm.", "ln_2."},   GgufName{"attn_qkv.", "attn.c_attn."},
    GgufName{"attn_output.", "attn.c_proj."}, GgufName{"ffn_up.", "mlp.c_fc."}, GgufName{"ffn_down.", "mlp.c_proj."},
};

inline constexpr std::array kGptNeoXEnds = {
    GgufName{"token_embd.", "gpt_neox.embed_in."},
    GgufName{"output_norm.", "gpt_neox.final_layer_norm."},
    GgufName{"output.", "embed_out."},
};
inline constexpr std::array kGptNeoXNames = {
    GgufName{"attn_qkv.", "attention.query_key_value."},
    GgufName{"attn_output.", "attention.dense."},
    GgufName{"ffn_up.", "mlp.dense_h_to_4h."},
    GgufName{"ffn_down.", "mlp.dense_4h_to_h."},
};

/// Shared by Falcon and Bloom.
inline constexpr std::array kBloomEnds = {
    GgufName{"token_embd.", "transformer.word_embeddings."},
    GgufName{"token_embd_norm.", "transformer.word_embeddings_layernorm."},
    GgufName{"output_norm.", "transformer.ln_f."},
};
inline constexpr std::array kBloomNames = {
    GgufName{"attn_qkv.", "self_attention.query_key_value."},
    GgufName{"attn_output.", "self_attention.dense."},
    GgufName{"ffn_up.", "mlp.dense_h_to_4h."},
    GgufName{"ffn_down.", "mlp.dense_4h_to_h."},
};
/// Falcon with one norm per layer, or (Falcon40) with one norm each for attention and MLP: there attn_norm_2 is attention's.
inline constexpr std::array kFalconNames = {
    GgufName{"attn_norm.", "input_layernorm."},
    GgufName{"attn_norm_2.", "ln_attn."},
    GgufName{"attn_norm.", "ln_mlp."},
    GgufName{"attn_qkv.", "self_attention.query_key_value."},
    GgufName{"attn_output.", "self_attention.dense."},
    GgufName{"ffn_up.", "mlp.dense_h_to_4h."},
    GgufName{"ffn_down.", "mlp.dense_4h_to_h."},
};
inline constexpr std::array kFalcon40Names = {
    GgufName{"attn_norm_2.", "ln_attn."},
    GgufName{"attn_norm.", "ln_mlp."},
    GgufName{"attn_qkv.", "self_attention.query_key_value."},
    GgufName{"attn_output.", "self_attention.dense."},
    GgufName{"ffn_up.", "mlp.dense_h_to_4h."},
    GgufName{"ffn_down.", "mlp.dense_4h_to_h."},
};

/// BERT encoders. The position table has no rows for padding positions.
inline constexpr std::array kBertEnds = {
    GgufName{"token_embd.", "embeddings.word_embeddings."},
    GgufName{"position_embd.", "embeddings.position_embeddings."},
    GgufName{"token_types.", "embeddings.token_type_embeddings."},
    GgufName{"token_embd_norm.", "embeddings.LayerNorm."},
};
inline constexpr std::array kBertNames = {
    GgufName{"attn_q.", "attention.self.query."},
    GgufName{"attn_k.", "attention.self.key."},
    GgufName{"attn_v.", "attention.self.value."},
    GgufName{"attn_output.", "attention.output.dense."},
    GgufName{"attn_output_norm.", "attention.output.LayerNorm."},
    GgufName{"ffn_up.", "intermediate.dense."},
    GgufName{"ffn_down.", "output.dense."},
    GgufName{"layer_output_norm.", "output.LayerNorm."},
};

inline constexpr std::array kInternLm2Ends = {
    GgufName{"token_embd.", "model.tok_embeddings."},
    GgufName{"output.", "output."},
};
inline constexpr std::array kInternLm2Names = {
    GgufName{"attn_norm.", "attention_norm."}, GgufName{"ffn_norm.", "ffn_norm."},
    GgufName{"attn_q.", "attention.wq."},      GgufName{"attn_k.", "attention.wk."},
    GgufName{"attn_v.", "attention.wv."},      GgufName{"attn_output.", "attention.wo."},
    GgufName{"ffn_gate.", "feed_forward.w1."}, GgufName{"ffn_up.", "feed_forward.w3."},
    GgufName{"ffn_down.", "feed_forward.w2."},
};

inline constexpr std::array kMptEnds = {
    GgufName{"token_embd.", "transformer.wte."},
    GgufName{"output_norm.", "transformer.norm_f."},
};
inline constexpr std::array kMptNames = {
    GgufName{"attn_norm.", "norm_1."},          GgufName{"ffn_norm.", "norm_2."},    GgufName{"attn_qkv.", "attn.Wqkv."},
    GgufName{"attn_output.", "attn.out_proj."}, GgufName{"ffn_up.", "ffn.up_proj."}, GgufName{"ffn_down.", "ffn.down_proj."},
};

inline constexpr std::array kSeedOssNames = {GgufName{"post_attention_norm.", "post_attention_layernorm."}};

/// Older files have attn_kv_b; newer files have attn_k_b and attn_v_b, which stack the K and V matrices of all heads.
inline constexpr std::array kDeepseekNames = {
    GgufName{"attn_q_a.", "self_attn.q_a_proj."},
    GgufName{"attn_q_a_norm.", "self_attn.q_a_layernorm."},
    GgufName{"attn_q_b.", "self_attn.q_b_proj."},
    GgufName{"attn_kv_a_mqa.", "self_attn.kv_a_proj_with_mqa."},
    GgufName{"attn_kv_a_norm.", "self_attn.kv_a_layernorm."},
    GgufName{"attn_kv_b.", "self_attn.kv_b_proj."},
    GgufName{"attn_k_b.", "self_attn.k_b_proj.{}."},
    GgufName{"attn_v_b.", "self_attn.v_b_proj.{}."},
    GgufName{"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
    GgufName{"ffn_gate_inp.", "mlp.gate."},
    GgufName{"ffn_gate_exps.", "mlp.experts.{}.gate_proj."},
    GgufName{"ffn_up_exps.", "mlp.experts.{}.up_proj."},
    GgufName{"ffn_down_exps.", "mlp.experts.{}.down_proj."},
    GgufName{"ffn_gate_shexp.", "mlp.shared_experts.gate_proj."},
    GgufName{"ffn_up_shexp.", "mlp.shared_experts.up_proj."},
    GgufName{"ffn_down_shexp.", "mlp.shared_experts.down_proj."},
};

/// Layers of gated delta net, and the norm that other families call ffn_norm.
inline constexpr std::array kDeltaNetNames = {
    GgufName{"post_attention_norm.", "post_attention_layernorm."},
    GgufName{"attn_qkv.", "linear_attn.in_proj_qkv."},
    GgufName{"attn_gate.", "linear_attn.in_proj_z."},
    GgufName{"ssm_alpha.", "linear_attn.in_proj_a."},
    GgufName{"ssm_beta.", "linear_attn.in_proj_b."},
    GgufName{"ssm_ba.", "linear_attn.in_proj_ba."},
    GgufName{"ssm_conv1d.", "linear_attn.conv1d."},
    GgufName{"ssm_a", "linear_attn.A_log"},
    GgufName{"ssm_dt.bias", "linear_attn.dt_bias"},
    GgufName{"ssm_norm.", "linear_attn.norm."},
    GgufName{"ssm_out.", "linear_attn.out_proj."},
};

inline constexpr std::array kLfm2Ends = {GgufName{"token_embd_norm.", "model.embedding_norm."}};
inline constexpr std::array kLfm2Names = {
    GgufName{"attn_norm.", "operator_norm."},
    GgufName{"ffn_norm.", "ffn_norm."},
    GgufName{"attn_q_norm.", "self_attn.q_layernorm."},
    GgufName{"attn_k_norm.", "self_attn.k_layernorm."},
    GgufName{"attn_output.", "self_attn.out_proj."},
    GgufName{"shortconv.conv.", "conv.conv."},
    GgufName{"shortconv.in_proj.", "conv.in_proj."},
    GgufName{"shortconv.out_proj.", "conv.out_proj."},
    GgufName{"ffn_gate.", "feed_forward.w1."},
    GgufName{"ffn_up.", "feed_forward.w3."},
    GgufName{"ffn_down.", "feed_forward.w2."},
    GgufName{"ffn_gate_inp.", "feed_forward.gate."},
    GgufName{"exp_probs_b.bias", "feed_forward.expert_bias"},
    GgufName{"ffn_gate_exps.", "feed_forward.experts.{}.w1."},
    GgufName{"ffn_up_exps.", "feed_forward.experts.{}.w3."},
    GgufName{"ffn_down_exps.", "feed_forward.experts.{}.w2."},
};

inline constexpr std::array kQwen2MoeNames = {
    GgufName{"ffn_gate_inp.", "mlp.gate."},
    GgufName{"ffn_gate_exps.", "mlp.experts.{}.gate_proj."},
    GgufName{"ffn_up_exps.", "mlp.experts.{}.up_proj."},
    GgufName{"ffn_down_exps.", "mlp.experts.{}.down_proj."},
    GgufName{"ffn_gate_inp_shexp.", "mlp.shared_expert_gate.", true},
    GgufName{"ffn_gate_shexp.", "mlp.shared_expert.gate_proj."},
    GgufName{"ffn_up_shexp.", "mlp.shared_expert.up_proj."},
    GgufName{"ffn_down_shexp.", "mlp.shared_expert.down_proj."},
};

inline constexpr std::array kGlm4MoeNames =
    joined(std::array{GgufName{"post_attention_norm.", "post_attention_layernorm."}}, kDeepseekNames);
inline constexpr std::array kExaoneMoeNames =
    joined(std::array{GgufName{"exp_probs_b.bias", "mlp.e_score_correction_bias"}}, kDeepseekNames);
inline constexpr std::array kMiniMaxM2Names =
    joined(std::array{GgufName{"exp_probs_b.bias", "block_sparse_moe.e_score_correction_bias"}}, kMixtralNames);
inline constexpr std::array kMistral4Names =
    joined(std::array{GgufName{"ffn_gate_up_exps.weight", "mlp.experts.{}.gate_up_proj"}}, kDeepseekNames);
inline constexpr std::array kErnieMoeNames =
    joined(std::array{GgufName{"exp_probs_b.bias", "mlp.moe_statics.e_score_correction_bias", true}}, kDeepseekNames);
inline constexpr std::array kHunyuanNames = {
    GgufName{"attn_q_norm.", "self_attn.query_layernorm."},
    GgufName{"attn_k_norm.", "self_attn.key_layernorm."},
};
inline constexpr std::array kHunyuanMoeNames =
    joined(kHunyuanNames, std::array{
                              GgufName{"ffn_gate_inp.", "mlp.gate.wg."},
                              GgufName{"ffn_gate_exps.", "mlp.experts.{}.gate_proj."},
                              GgufName{"ffn_up_exps.", "mlp.experts.{}.up_proj."},
                              GgufName{"ffn_down_exps.", "mlp.experts.{}.down_proj."},
                              GgufName{"ffn_gate_shexp.", "mlp.shared_mlp.gate_proj."},
                              GgufName{"ffn_up_shexp.", "mlp.shared_mlp.up_proj."},
                              GgufName{"ffn_down_shexp.", "mlp.shared_mlp.down_proj."},
                          });
inline constexpr std::array kAfmoeNames = joined(
    std::array{
        GgufName{"post_attention_norm.", "post_attention_layernorm."},
        GgufName{"ffn_norm.", "pre_mlp_layernorm."},
        GgufName{"post_ffw_norm.", "post_mlp_layernorm."},
        GgufName{"attn_gate.", "self_attn.gate_proj."},
        GgufName{"exp_probs_b.bias", "mlp.expert_bias"},
        GgufName{"ffn_gate_inp.", "mlp.router.gate."},
    },
    kDeepseekNames);
inline constexpr std::array kLlama4Names = {
    GgufName{"ffn_gate.", "feed_forward.gate_proj."},
    GgufName{"ffn_up.", "feed_forward.up_proj."},
    GgufName{"ffn_down.", "feed_forward.down_proj."},
    GgufName{"ffn_gate_inp.", "feed_forward.router."},
    GgufName{"ffn_gate_exps.", "feed_forward.experts.{}.gate_proj."},
    GgufName{"ffn_up_exps.", "feed_forward.experts.{}.up_proj."},
    GgufName{"ffn_down_exps.", "feed_forward.experts.{}.down_proj."},
    GgufName{"ffn_gate_shexp.", "feed_forward.shared_expert.gate_proj."},
    GgufName{"ffn_up_shexp.", "feed_forward.shared_expert.up_proj."},
    GgufName{"ffn_down_shexp.", "feed_forward.shared_expert.down_proj."},
};
inline constexpr std::array kMuseNames = joined(kNormsAround, std::array{GgufName{"attn_gate.", "self_attn.gate_proj."}});
inline constexpr std::array kQwen3NextNames = joined_names(kDeltaNetNames, kQwen2MoeNames);

}  // namespace lathe::engine
