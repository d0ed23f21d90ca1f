// SPDX-License-Identifier: Apache-2.0
// GLM-4.5, 4.5-Air, 4.6, 4.7: the experts of DeepSeek-V3 behind ordinary attention. The layer for multi-token prediction is
// left out. Source: GLM-4.5 Team 2025; Hugging Face transformers, Glm4MoeConfig.
#include "engine/model/deepseek_config.h"

namespace lathe::engine {
namespace {

constexpr auto kGlm4MoeTensors =
    joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp, kDeepseekExperts, kFusedExperts);

void read_glm4_moe_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 8, .n_positions = 131072});
  read_rms_norm(reader, config, 1e-5);
  read_partial_rope(reader, config, {.factor = 0.5, .may_be_odd = true});
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = reader.boolean_or("attention_bias", false);
  if (reader.boolean_or("use_qk_norm", false)) norm_queries(config, QkNorm::head);
  read_deepseek_experts(reader, config, {.n_experts = 128, .top_k = 8, .n_shared = 1, .n_dense = 1});
  read_sigmoid_router(reader, config, 1, 1);
}

}  // namespace

extern constexpr Architecture kGlm4Moe{
    .name = "Glm4MoeForCausalLM",
    .model_type = "glm4_moe",
    .tensors = kGlm4MoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_glm4_moe_config,
};

}  // namespace lathe::engine
