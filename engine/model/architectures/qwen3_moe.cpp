// SPDX-License-Identifier: Apache-2.0
// Qwen 3 MoE: Qwen 3 with experts. Source: Hugging Face transformers, Qwen3MoeConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kQwen3MoeTensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp, kQwenExperts, kFusedExperts);

void read_qwen3_moe_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_kv_heads = 4, .n_positions = 32768});
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  norm_queries(config, QkNorm::head);
  const bool slides = reader.boolean_or("use_sliding_window", false);
  const std::int64_t window = reader.integer_or("sliding_window", 4096, 0, kMaxPositions);
  read_windows(reader, config, slides ? window : 0, [&](std::int64_t) { return slides; });
  read_experts(reader, config, 128, 8);
  read_sparse_layers(reader, config);
  config.moe.normalises = reader.boolean_or("norm_topk_prob", false);
}

}  // namespace

extern constexpr Architecture kQwen3Moe{
    .name = "Qwen3MoeForCausalLM",
    .model_type = "qwen3_moe",
    .tensors = kQwen3MoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_qwen3_moe_config,
};

}  // namespace lathe::engine
