// SPDX-License-Identifier: Apache-2.0
// dots.llm1: the experts of DeepSeek-V3 behind the attention of Qwen 3. Source: Huo et al. 2025; Hugging Face transformers,
// Dots1Config.
#include "engine/model/deepseek_config.h"

namespace lathe::engine {
namespace {

constexpr auto kDots1Tensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp, kDeepseekExperts, kFusedExperts);

void read_dots1_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_kv_heads = 32});
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  norm_queries(config, QkNorm::head);
  const std::int64_t window =
      reader.is_null("sliding_window") ? 0 : reader.integer_or("sliding_window", 4096, 0, kMaxPositions);
  const std::int64_t first = reader.integer_or("max_window_layers", 62, 0, kMaxLayers);
  read_windows(reader, config, window, [&](std::int64_t layer) { return layer >= first; });
  read_deepseek_experts(reader, config, {.n_experts = 128, .top_k = 6});
  read_sigmoid_router(reader, config, 1, 1);
  config.moe.normalises = reader.boolean_or("norm_topk_prob", false);
}

}  // namespace

extern constexpr Architecture kDots1{
    .name = "Dots1ForCausalLM",
    .model_type = "dots1",
    .tensors = kDots1Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_dots1_config,
};

}  // namespace lathe::engine
