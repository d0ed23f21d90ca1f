// SPDX-License-Identifier: Apache-2.0
// Qwen 1.5 and 2 MoE: Qwen 2 with routed experts and a shared one. Source: Hugging Face transformers, Qwen2MoeConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kQwen2MoeTensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp, kQwenExperts, kFusedExperts);

/// Sets windows in every second layer below `max_window_layers`. Qwen 2 reads the same keys otherwise.
void read_lower_windows(ConfigReader& reader, ModelConfig& config) {
  const bool slides = reader.boolean_or("use_sliding_window", false);
  const std::int64_t window = reader.integer_or("sliding_window", 4096, 0, kMaxPositions);
  const std::int64_t end = reader.integer_or("max_window_layers", 28, 0, kMaxLayers);
  read_windows(reader, config, slides ? window : 0,
               [&](std::int64_t layer) { return slides && layer % 2 == 0 && layer < end; });
}

void read_qwen2_moe_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_positions = 32768});
  config.qkv_bias = reader.boolean_or("qkv_bias", true);
  read_lower_windows(reader, config);
  read_experts(reader, config, 60, 4);
  read_sparse_layers(reader, config);
  config.moe.normalises = reader.boolean_or("norm_topk_prob", false);
  config.moe.shared_size = reader.integer_or("shared_expert_intermediate_size", 5632, 1, kMaxWidth);
  config.moe.has_shared_gate = true;
}

}  // namespace

extern constexpr Architecture kQwen2Moe{
    .name = "Qwen2MoeForCausalLM",
    .model_type = "qwen2_moe",
    .tensors = kQwen2MoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_qwen2_moe_config,
};

}  // namespace lathe::engine
