// SPDX-License-Identifier: Apache-2.0
// Lists the GGUF keys of each family in addition to the keys of all families, with the config.json keys of the same meaning.
// Source: llama.cpp, gguf-py/gguf/constants.py and the converters.
#pragma once

#include <array>

#include "engine/load/gguf/gguf_families.h"

namespace lathe::engine {

inline constexpr std::array kCommonKeys = {
    GgufKey{"context_length", "max_position_embeddings", GgufKey::Kind::whole, true},
    GgufKey{"embedding_length", "hidden_size", GgufKey::Kind::whole, true},
    GgufKey{"block_count", "num_hidden_layers", GgufKey::Kind::whole, true},
    GgufKey{"feed_forward_length", "intermediate_size", GgufKey::Kind::whole, true},
    GgufKey{"attention.head_count", "num_attention_heads", GgufKey::Kind::whole, true},
    GgufKey{"attention.head_count_kv", "num_key_value_heads"},
    GgufKey{"attention.key_length", "head_dim"},
    GgufKey{"rope.freq_base", "rope_theta", GgufKey::Kind::number},
    // The matrix may have more rows than the vocabulary has tokens.
    GgufKey{"token_embd.weight", "vocab_size", GgufKey::Kind::rows, true},
};

inline constexpr GgufKey kRmsEps{"attention.layer_norm_rms_epsilon", "rms_norm_eps", GgufKey::Kind::number, true};
inline constexpr GgufKey kWindow{"attention.sliding_window", "sliding_window"};

constexpr GgufKey layer_eps(std::string_view config) {
  return {"attention.layer_norm_epsilon", config, GgufKey::Kind::number, true};
}

inline constexpr std::array kRmsKeys = {kRmsEps};
inline constexpr std::array kLayerNormKeys = {layer_eps("layer_norm_eps")};
inline constexpr std::array kStarCoder2Keys = {layer_eps("norm_epsilon")};
inline constexpr std::array kStableLmKeys = {layer_eps("layer_norm_eps"),
                                             GgufKey{"use_parallel_residual", "use_parallel_residual", GgufKey::Kind::flag},
                                             GgufKey{"blk.0.attn_q.bias", "use_qkv_bias", GgufKey::Kind::has_tensor},
                                             GgufKey{"blk.0.attn_q_norm.weight", "qk_layernorm", GgufKey::Kind::has_tensor}};
inline constexpr std::array kCohereKeys = {layer_eps("layer_norm_eps"),
                                           GgufKey{"logit_scale", "logit_scale", GgufKey::Kind::number},
                                           GgufKey{"blk.0.attn_q_norm.weight", "use_qk_norm", GgufKey::Kind::has_tensor}};
inline constexpr std::array kGemma2Keys = {
    kRmsEps, kWindow, GgufKey{"attn_logit_softcapping", "attn_logit_softcapping", GgufKey::Kind::number},
    GgufKey{"final_logit_softcapping", "final_logit_softcapping", GgufKey::Kind::number}};
inline constexpr std::array kGemma3Keys = {kRmsEps, kWindow,
                                           GgufKey{"rope.freq_base_swa", "rope_local_base_freq", GgufKey::Kind::number}};
/// complete_gemma4() makes keys of config.json of those that begin with "gguf_".
inline constexpr std::array kGemma4Keys = {
    kRmsEps,
    kWindow,
    GgufKey{"attention.sliding_window_pattern", "layer_types", GgufKey::Kind::layer_types},
    GgufKey{"attention.head_count_kv", "num_key_value_heads", GgufKey::Kind::by_layer},
    GgufKey{"feed_forward_length", "intermediate_size", GgufKey::Kind::by_layer, true},
    GgufKey{"attention.key_length_swa", "gguf_key_length_swa", GgufKey::Kind::whole, true},
    GgufKey{"attention.shared_kv_layers", "num_kv_shared_layers"},
    GgufKey{"rope.freq_base_swa", "gguf_freq_base_swa", GgufKey::Kind::number},
    GgufKey{"final_logit_softcapping", "final_logit_softcapping", GgufKey::Kind::number},
    GgufKey{"embedding_length_per_layer_input", "hidden_size_per_layer_input"},
    GgufKey{"per_layer_token_embd.weight", "vocab_size_per_layer_input", GgufKey::Kind::rows},
    GgufKey{"attn_v.weight", "gguf_layers_without_v", GgufKey::Kind::layers_without}};
inline constexpr std::array kGemma4MoeKeys = joined(
    kGemma4Keys, std::array{GgufKey{"expert_count", "num_experts", GgufKey::Kind::whole, true},
                            GgufKey{"expert_used_count", "top_k_experts", GgufKey::Kind::whole, true},
                            GgufKey{"expert_feed_forward_length", "moe_intermediate_size", GgufKey::Kind::whole, true}});
/// The width of the learned residuals is that of their matrices.
inline constexpr std::array kGemma3nKeys = {
    kRmsEps,
    kWindow,
    GgufKey{"attention.sliding_window_pattern", "layer_types", GgufKey::Kind::layer_types, true},
    GgufKey{"feed_forward_length", "intermediate_size", GgufKey::Kind::by_layer, true},
    GgufKey{"activation_sparsity_scale", "activation_sparsity_pattern", GgufKey::Kind::normal_quantiles, true},
    GgufKey{"attention.shared_kv_layers", "num_kv_shared_layers", GgufKey::Kind::whole, true},
    GgufKey{"altup.active_idx", "altup_active_idx"},
    GgufKey{"altup.num_inputs", "altup_num_inputs"},
    GgufKey{"rope.freq_base_swa", "rope_local_base_freq", GgufKey::Kind::number},
    GgufKey{"final_logit_softcapping", "final_logit_softcapping", GgufKey::Kind::number},
    GgufKey{"embedding_length_per_layer_input", "hidden_size_per_layer_input", GgufKey::Kind::whole, true},
    GgufKey{"per_layer_token_embd.weight", "vocab_size_per_layer_input", GgufKey::Kind::rows, true},
    GgufKey{"blk.0.laurel_l.weight", "laurel_rank", GgufKey::Kind::rows, true}};
inline constexpr std::array kExaone4Keys = {
    kRmsEps, kWindow, GgufKey{"attention.sliding_window_pattern", "layer_types", GgufKey::Kind::layer_types}};
inline constexpr std::array kGraniteKeys = {kRmsEps,
                                            GgufKey{"attention.scale", "attention_multiplier", GgufKey::Kind::number},
                                            GgufKey{"embedding_scale", "embedding_multiplier", GgufKey::Kind::number},
                                            GgufKey{"residual_scale", "residual_multiplier", GgufKey::Kind::number},
                                            GgufKey{"logit_scale", "logits_scaling", GgufKey::Kind::number}};
inline constexpr std::array kPhi3Keys = {
    kRmsEps, kWindow, GgufKey{"rope.scaling.original_context_length", "original_max_position_embeddings"}};
inline constexpr std::array kMixtralKeys = {kRmsEps,
                                            GgufKey{"expert_count", "num_local_experts", GgufKey::Kind::whole, true},
                                            GgufKey{"expert_used_count", "num_experts_per_tok", GgufKey::Kind::whole, true}};
inline constexpr std::array kQwen3MoeKeys = {
    kRmsEps, GgufKey{"expert_count", "num_experts", GgufKey::Kind::whole, true},
    GgufKey{"expert_used_count", "num_experts_per_tok", GgufKey::Kind::whole, true},
    GgufKey{"expert_feed_forward_length", "moe_intermediate_size", GgufKey::Kind::whole, true}};
inline constexpr std::array kGptOssKeys = {
    kRmsEps, kWindow, GgufKey{"expert_count", "num_local_experts", GgufKey::Kind::whole, true},
    GgufKey{"expert_used_count", "num_experts_per_tok", GgufKey::Kind::whole, true},
    GgufKey{"expert_feed_forward_length", "intermediate_size", GgufKey::Kind::whole, true}};

inline constexpr std::array kGpt2Keys = {layer_eps("layer_norm_epsilon")};  // also of Bloom and Falcon
inline constexpr std::array kFalcon40Keys = {
    layer_eps("layer_norm_epsilon"),
    GgufKey{"blk.0.attn_norm_2.weight", "new_decoder_architecture", GgufKey::Kind::has_tensor}};
inline constexpr std::array kGptNeoXKeys = {layer_eps("layer_norm_eps"),
                                            GgufKey{"use_parallel_residual", "use_parallel_residual", GgufKey::Kind::flag}};
inline constexpr std::array kInternLm2Keys = {kRmsEps, GgufKey{"blk.0.attn_q.bias", "bias", GgufKey::Kind::has_tensor}};
inline constexpr std::array kMptKeys = {
    layer_eps("layer_norm_epsilon"),
    GgufKey{"attention.max_alibi_bias", "attn_config.alibi_bias_max", GgufKey::Kind::number, true},
    GgufKey{"attention.clamp_kqv", "attn_config.clip_qkv", GgufKey::Kind::number}};
inline constexpr std::array kCohere2Keys = {layer_eps("layer_norm_eps"),
                                            GgufKey{"logit_scale", "logit_scale", GgufKey::Kind::number}, kWindow};
inline constexpr std::array kMistral3Keys = {
    kRmsEps, GgufKey{"attention.temperature_scale", "rope_parameters.llama_4_scaling_beta", GgufKey::Kind::number},
    GgufKey{"rope.scaling.yarn_log_multiplier", "rope_parameters.mscale_all_dim", GgufKey::Kind::number}};
inline constexpr std::array kQwen2MoeKeys = {
    kRmsEps,
    GgufKey{"expert_count", "num_experts", GgufKey::Kind::whole, true},
    GgufKey{"expert_used_count", "num_experts_per_tok", GgufKey::Kind::whole, true},
    GgufKey{"expert_feed_forward_length", "moe_intermediate_size", GgufKey::Kind::whole, true},
    GgufKey{"expert_shared_feed_forward_length", "shared_expert_intermediate_size", GgufKey::Kind::whole, true},
    GgufKey{"ffn_gate_inp.weight", "mlp_only_layers", GgufKey::Kind::layers_without}};
/// Value heads have the size inner_size / time_step_rank. Layers for multi-token prediction follow the others.
inline constexpr std::array kDeltaNetKeys = {
    kRmsEps,
    GgufKey{"ssm.conv_kernel", "linear_conv_kernel_dim", GgufKey::Kind::whole, true},
    GgufKey{"ssm.state_size", "linear_key_head_dim", GgufKey::Kind::whole, true},
    GgufKey{"ssm.group_count", "linear_num_key_heads", GgufKey::Kind::whole, true},
    GgufKey{"ssm.time_step_rank", "linear_num_value_heads", GgufKey::Kind::whole, true},
    GgufKey{"ssm.inner_size", "linear_value_size", GgufKey::Kind::whole, true},
    GgufKey{"full_attention_interval", "full_attention_interval"},
    GgufKey{"attention.recurrent_layers", "layer_types", GgufKey::Kind::recurrent},
    GgufKey{"nextn_predict_layers", "num_nextn_predict_layers"}};
inline constexpr std::array kSharedExpertKeys = {
    GgufKey{"expert_count", "num_experts", GgufKey::Kind::whole, true},
    GgufKey{"expert_used_count", "num_experts_per_tok", GgufKey::Kind::whole, true},
    GgufKey{"expert_feed_forward_length", "moe_intermediate_size", GgufKey::Kind::whole, true},
    GgufKey{"expert_shared_feed_forward_length", "shared_expert_intermediate_size", GgufKey::Kind::whole, true}};
inline constexpr std::array kQwen3NextKeys = joined(kDeltaNetKeys, kSharedExpertKeys);
/// All layers have experts, so that files have no size of other MLPs.
inline constexpr std::array kNoMlpKey = {GgufKey{"feed_forward_length", "intermediate_size"}};
inline constexpr std::array kRopeSectionsKey = {
    GgufKey{"rope.dimension_sections", "rope_parameters.mrope_section", GgufKey::Kind::rope_sections}};
inline constexpr std::array kQwen35Keys = joined(kDeltaNetKeys, kRopeSectionsKey);
inline constexpr std::array kQwen35MoeKeys = joined(joined(kQwen3NextKeys, kNoMlpKey), kRopeSectionsKey);
inline constexpr std::array kLfm2Keys = {
    GgufKey{"attention.layer_norm_rms_epsilon", "norm_eps", GgufKey::Kind::number, true},
    GgufKey{"attention.head_count_kv", "num_key_value_heads", GgufKey::Kind::kv_heads, true},
    GgufKey{"shortconv.l_cache", "conv_L_cache", GgufKey::Kind::whole, true}};
inline constexpr std::array kLfm2ExpertKeys = {
    GgufKey{"expert_count", "num_experts", GgufKey::Kind::whole, true},
    GgufKey{"expert_used_count", "num_experts_per_tok", GgufKey::Kind::whole, true},
    GgufKey{"expert_feed_forward_length", "moe_intermediate_size", GgufKey::Kind::whole, true},
    GgufKey{"expert_weights_scale", "routed_scaling_factor", GgufKey::Kind::number},
    GgufKey{"expert_gating_func", "scoring_func", GgufKey::Kind::router_score},
    GgufKey{"leading_dense_block_count", "num_dense_layers", GgufKey::Kind::whole, true}};
inline constexpr std::array kLfm2MoeKeys = joined(kLfm2Keys, kLfm2ExpertKeys);
inline constexpr std::array kPhiMoeKeys = {
    kRmsEps,
    kWindow,
    GgufKey{"expert_count", "num_local_experts", GgufKey::Kind::whole, true},
    GgufKey{"expert_used_count", "num_experts_per_tok", GgufKey::Kind::whole, true},
    GgufKey{"rope.scaling.original_context_length", "original_max_position_embeddings"},
    GgufKey{"output.bias", "lm_head_bias", GgufKey::Kind::has_tensor}};

/// A causal BERT is called a decoder in its config.
inline constexpr std::array kBertKeys = {layer_eps("layer_norm_eps"),
                                         GgufKey{"attention.causal", "is_decoder", GgufKey::Kind::flag},
                                         GgufKey{"token_types.weight", "type_vocab_size", GgufKey::Kind::rows}};
inline constexpr std::array kGlmKeys = {kRmsEps, GgufKey{"blk.0.attn_q.bias", "attention_bias", GgufKey::Kind::has_tensor},
                                        GgufKey{"blk.0.attn_qkv.bias", "attention_bias", GgufKey::Kind::has_tensor}};
inline constexpr std::array kSeedOssKeys = {
    kRmsEps, GgufKey{"blk.0.attn_q.bias", "attention_bias", GgufKey::Kind::has_tensor},
    GgufKey{"blk.0.attn_output.bias", "attention_out_bias", GgufKey::Kind::has_tensor}};
/// Keys of files without experts. Such files have no router keys, and a key for shared experts would imply one.
/// Files have keys of their own for the head sizes (key_length_mla, value_length_mla) since K and V of the heads are
/// separate tensors; older files use the keys of all families.
inline constexpr std::array kDeepseekDenseKeys = {
    kRmsEps,
    GgufKey{"attention.q_lora_rank", "q_lora_rank"},
    GgufKey{"attention.kv_lora_rank", "kv_lora_rank", GgufKey::Kind::whole, true},
    GgufKey{"attention.key_length_mla", "qk_head_dim"},
    GgufKey{"attention.value_length", "value_length"},
    GgufKey{"attention.value_length_mla", "v_head_dim"},
    GgufKey{"rope.dimension_count", "qk_rope_head_dim", GgufKey::Kind::whole, true},
    GgufKey{"rope.scaling.yarn_log_multiplier", "rope_parameters.mscale_all_dim", GgufKey::Kind::number, false, 10},
    GgufKey{"leading_dense_block_count", "first_k_dense_replace"},
    GgufKey{"nextn_predict_layers", "num_nextn_predict_layers"}};
inline constexpr std::array kDeepseekExpertKeys = {
    GgufKey{"expert_count", "n_routed_experts", GgufKey::Kind::whole, true},
    GgufKey{"expert_used_count", "num_experts_per_tok", GgufKey::Kind::whole, true},
    GgufKey{"expert_feed_forward_length", "moe_intermediate_size", GgufKey::Kind::whole, true},
    GgufKey{"expert_shared_count", "n_shared_experts"},
    GgufKey{"expert_group_count", "n_group"},
    GgufKey{"expert_group_used_count", "topk_group"},
    GgufKey{"expert_weights_scale", "routed_scaling_factor", GgufKey::Kind::number},
    GgufKey{"expert_weights_norm", "norm_topk_prob", GgufKey::Kind::flag},
    GgufKey{"expert_gating_func", "scoring_func", GgufKey::Kind::router_score}};
inline constexpr std::array kDeepseekKeys = joined(kDeepseekDenseKeys, kDeepseekExpertKeys);

inline constexpr GgufKey kLeadingDense{"leading_dense_block_count", "first_k_dense_replace"};
inline constexpr GgufKey kNextLayers{"nextn_predict_layers", "num_nextn_predict_layers"};
inline constexpr GgufKey kHasQueryBias{"blk.0.attn_q.bias", "attention_bias", GgufKey::Kind::has_tensor};
/// The width of the shared experts together, which the families' readers know from the other keys.
inline constexpr GgufKey kSharedWidth{"expert_shared_feed_forward_length", "shared_expert_intermediate_size"};
constexpr GgufKey whole_key(std::string_view gguf, std::string_view config) {
  return {gguf, config, GgufKey::Kind::whole, true};
}
/// The epsilon is that of all models of the family; other readers require it.
inline constexpr std::array kOlmoKeys = {GgufKey{"attention.layer_norm_epsilon", "layer_norm_eps", GgufKey::Kind::number},
                                         GgufKey{"attention.clamp_kqv", "clip_qkv", GgufKey::Kind::number}};
inline constexpr std::array kOlmoeKeys = {kRmsEps, kHasQueryBias, whole_key("expert_count", "num_experts"),
                                          whole_key("expert_used_count", "num_experts_per_tok")};
inline constexpr std::array kGlm4MoeOwnKeys = {kRmsEps, kHasQueryBias,
                                               GgufKey{"blk.0.attn_q_norm.weight", "use_qk_norm", GgufKey::Kind::has_tensor},
                                               kLeadingDense, kNextLayers};
inline constexpr std::array kGlm4MoeKeys = joined(kGlm4MoeOwnKeys, kDeepseekExpertKeys);
inline constexpr std::array kDots1OwnKeys = {kRmsEps, kHasQueryBias, kLeadingDense};
inline constexpr std::array kDots1Keys = joined(kDots1OwnKeys, kDeepseekExpertKeys);
inline constexpr std::array kExaoneMoeKeys = {
    kRmsEps,
    kWindow,
    GgufKey{"attention.sliding_window_pattern", "layer_types", GgufKey::Kind::layer_types},
    kLeadingDense,
    kNextLayers,
    whole_key("expert_count", "num_experts"),
    whole_key("expert_used_count", "num_experts_per_tok"),
    whole_key("expert_feed_forward_length", "moe_intermediate_size"),
    GgufKey{"expert_shared_count", "num_shared_experts"},
    kSharedWidth,
    GgufKey{"expert_gating_func", "scoring_func", GgufKey::Kind::router_score},
    GgufKey{"expert_group_count", "n_group"},
    GgufKey{"expert_group_used_count", "topk_group"},
    GgufKey{"expert_weights_scale", "routed_scaling_factor", GgufKey::Kind::number},
    GgufKey{"expert_weights_norm", "norm_topk_prob", GgufKey::Kind::flag}};
inline constexpr std::array kMiniMaxM2Keys = {kRmsEps, whole_key("expert_count", "num_local_experts"),
                                              whole_key("expert_used_count", "num_experts_per_tok"),
                                              whole_key("expert_feed_forward_length", "intermediate_size"),
                                              GgufKey{"expert_gating_func", "scoring_func", GgufKey::Kind::router_score}};
inline constexpr std::array kMistral4OwnKeys = {
    GgufKey{"attention.temperature_scale", "rope_parameters.llama_4_scaling_beta", GgufKey::Kind::number},
    GgufKey{"attention.temperature_length", "rope_parameters.original_max_position_embeddings"}};
inline constexpr std::array kMistral4Keys = joined(kMistral4OwnKeys, kDeepseekKeys);
inline constexpr std::array kErnieKeys = {kRmsEps, GgufKey{"blk.0.attn_q.bias", "use_bias", GgufKey::Kind::has_tensor}};
inline constexpr std::array kErnieMoeKeys = {kRmsEps,
                                             whole_key("expert_count", "moe_num_experts"),
                                             whole_key("expert_used_count", "moe_k"),
                                             whole_key("expert_feed_forward_length", "moe_intermediate_size"),
                                             whole_key("expert_shared_count", "moe_num_shared_experts"),
                                             kSharedWidth,
                                             GgufKey{"leading_dense_block_count", "moe_layer_start_index"},
                                             GgufKey{"interleave_moe_layer_step", "moe_layer_interval"}};
inline constexpr std::array kHunyuanKeys = {kRmsEps, kHasQueryBias};
inline constexpr std::array kHunyuanMoeKeys = {kRmsEps,
                                               kHasQueryBias,
                                               whole_key("expert_count", "num_experts"),
                                               whole_key("expert_used_count", "moe_topk"),
                                               GgufKey{"expert_feed_forward_length", "moe_intermediate_size"},
                                               GgufKey{"expert_shared_count", "num_shared_expert"},
                                               kSharedWidth};
inline constexpr std::array kNemotronKeys = {layer_eps("norm_eps")};
inline constexpr std::array kAfmoeKeys = {kRmsEps,
                                          kWindow,
                                          kHasQueryBias,
                                          whole_key("expert_count", "num_experts"),
                                          whole_key("expert_used_count", "num_experts_per_tok"),
                                          whole_key("expert_feed_forward_length", "moe_intermediate_size"),
                                          GgufKey{"expert_shared_count", "num_shared_experts"},
                                          GgufKey{"leading_dense_block_count", "num_dense_layers"},
                                          GgufKey{"expert_weights_scale", "route_scale", GgufKey::Kind::number},
                                          GgufKey{"expert_weights_norm", "route_norm", GgufKey::Kind::flag},
                                          GgufKey{"expert_gating_func", "score_func", GgufKey::Kind::router_score}};
/// The usual key of the width means the layers without experts.
inline constexpr std::array kLlama4Keys = {kRmsEps,
                                           kHasQueryBias,
                                           whole_key("feed_forward_length", "intermediate_size_mlp"),
                                           whole_key("expert_feed_forward_length", "intermediate_size"),
                                           whole_key("expert_count", "num_local_experts"),
                                           whole_key("expert_used_count", "num_experts_per_tok"),
                                           GgufKey{"interleave_moe_layer_step", "interleave_moe_layer_step"}};
/// The factor of Q is in the place of the weight that its norm does not have.
inline constexpr std::array kMuseKeys = {
    kRmsEps,
    kWindow,
    kHasQueryBias,
    GgufKey{"attention.sliding_window_pattern", "layer_types", GgufKey::Kind::layer_types},
    GgufKey{"final_logit_softcapping", "final_logit_softcapping", GgufKey::Kind::number},
    GgufKey{"logit_scale", "output_multiplier", GgufKey::Kind::number},
    GgufKey{"blk.0.attn_q_norm.weight", "qk_scale_factor", GgufKey::Kind::first_number, true}};

}  // namespace lathe::engine
