// SPDX-License-Identifier: Apache-2.0
// The parts that DeepSeek-V2, V3 and the families after them share. Source: DeepSeek-AI 2024; Hugging Face transformers,
// DeepseekV2Config and DeepseekV3Config.
#pragma once

#include "engine/model/standard_config.h"

namespace lathe::engine {

inline constexpr std::array kLatentAttention = {
    TensorName{WeightRole::latent_q_a_proj, "layers.{}.self_attn.q_a_proj.weight"},
    TensorName{WeightRole::latent_q_a_proj_bias, "layers.{}.self_attn.q_a_proj.bias"},
    TensorName{WeightRole::latent_q_norm, "layers.{}.self_attn.q_a_layernorm.weight"},
    TensorName{WeightRole::latent_q, "layers.{}.self_attn.q_b_proj.weight"},
    TensorName{WeightRole::latent_q, "layers.{}.self_attn.q_proj.weight"},
    TensorName{WeightRole::latent_kv_a_proj, "layers.{}.self_attn.kv_a_proj_with_mqa.weight"},
    TensorName{WeightRole::latent_kv_a_proj_bias, "layers.{}.self_attn.kv_a_proj_with_mqa.bias"},
    TensorName{WeightRole::latent_kv_norm, "layers.{}.self_attn.kv_a_layernorm.weight"},
    TensorName{WeightRole::latent_kv, "layers.{}.self_attn.kv_b_proj.weight"},
    TensorName{WeightRole::latent_head_k, "layers.{}.self_attn.k_b_proj.{}.weight"},
    TensorName{WeightRole::latent_head_v, "layers.{}.self_attn.v_b_proj.{}.weight"},
    TensorName{WeightRole::o, "layers.{}.self_attn.o_proj.weight"},
    TensorName{WeightRole::o_bias, "layers.{}.self_attn.o_proj.bias"},
};

inline constexpr std::array kDeepseekExperts = {
    TensorName{WeightRole::router, "layers.{}.mlp.gate.weight"},
    TensorName{WeightRole::score_correction_bias, "layers.{}.mlp.gate.e_score_correction_bias"},
    TensorName{WeightRole::expert_gate, "layers.{}.mlp.experts.{}.gate_proj.weight"},
    TensorName{WeightRole::expert_up, "layers.{}.mlp.experts.{}.up_proj.weight"},
    TensorName{WeightRole::expert_down, "layers.{}.mlp.experts.{}.down_proj.weight"},
    TensorName{WeightRole::shared_gate, "layers.{}.mlp.shared_experts.gate_proj.weight"},
    TensorName{WeightRole::shared_up, "layers.{}.mlp.shared_experts.up_proj.weight"},
    TensorName{WeightRole::shared_down, "layers.{}.mlp.shared_experts.down_proj.weight"},
};

inline constexpr auto kDeepseekTensors =
    joined(kLlamaEnds, kLlamaNorms, kLatentAttention, kLlamaMlp, kDeepseekExperts, kFusedExperts);

/// Defaults of a generation's class in transformers, used where the file gives no value.
struct DeepseekDefaults {
  std::int64_t n_positions = 0, n_experts = 0, top_k = 0, n_shared = 0, n_dense = 0;
  double expert_scale = 1, rms_norm_eps = 1e-6;
  LatentConfig latent{.kv_rank = 512, .q_rank = 1536, .qk_nope_head_dim = 128, .qk_rope_head_dim = 64, .v_dim = 128};
};
/// Reads sizes, latent attention, RoPE, and which layers have experts.
void read_deepseek_parts(ConfigReader& reader, ModelConfig& config, const DeepseekDefaults& defaults);
/// Reads routed and shared experts, and which layers have them: by `mlp_layer_types`, else from the first `n_dense` layers
/// on. Requires: n_layers is set.
void read_deepseek_experts(ConfigReader& reader, ModelConfig& config, const DeepseekDefaults& defaults);
/// Gives experts to the layers that `mlp_layer_types` lists, else to every `moe_layer_freq`th after the first dense ones,
/// whose number is under `dense_key`. Requires: n_layers is set.
void read_sparse_layers_by_type(ConfigReader& reader, ModelConfig& config, std::string_view dense_key, std::int64_t n_dense);
/// Reads the router of V3: sigmoids, a correction bias for the choice, groups by the sum of their best two.
void read_sigmoid_router(ConfigReader& reader, ModelConfig& config, std::int64_t n_groups, std::int64_t topk_groups);
/// Reads the groups of experts, of which a row uses the best topk_group.
void read_expert_groups(ConfigReader& reader, ModelConfig& config, std::int64_t n_groups, std::int64_t top_k);

}  // namespace lathe::engine
