// SPDX-License-Identifier: Apache-2.0
// Qwen 1.5 and 2 MoE: Qwen 2 with experts, one of which all rows share. Source: Hugging Face transformers, Qwen2MoeConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {

extern const Architecture kQwen2Moe;

namespace {

constexpr auto kTensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp, kQwenExperts, kFusedExperts);

void read_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_positions = 32768});
  config.qkv_bias = reader.boolean_or("qkv_bias", true);
  read_upper_windows(reader, config);
  read_experts(reader, config, 60, 4);
  read_sparse_layers(reader, config);
  config.moe.normalises = reader.boolean_or("norm_topk_prob", false);
  config.moe.shared_size = reader.integer_or("shared_expert_intermediate_size", 5632, 1, kMaxWidth);
  config.moe.has_shared_gate = true;
}

}  // namespace

constexpr Architecture kQwen2Moe{
    .name = "Qwen2MoeForCausalLM",
    .model_type = "qwen2_moe",
    .tensors = kTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_config,
};

}  // namespace lathe::engine
