// SPDX-License-Identifier: Apache-2.0
// Gemma 3, text: norms before and after attention and MLP, normalised Q and K; one layer in six sees the whole context, the
// others have a window and their own RoPE. Source: Gemma Team 2025; Hugging Face transformers, Gemma3TextConfig.
#include "engine/model/gemma_config.h"
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_gemma3_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 4, .head_dim = 256, .n_positions = 131072, .tied_embeddings = true});
  read_gemma_parts(reader, config);
  read_gemma_scores(reader, config, {});
  config.norm_place = NormPlace::around;
  norm_queries(config, QkNorm::head);
  const std::int64_t period = reader.integer_or("sliding_window_pattern", 6, 1, kMaxLayers);
  const std::int64_t window = reader.integer_or("sliding_window", 4096, 1, kMaxPositions);
  read_windows(reader, config, window, [&](std::int64_t layer) { return (layer + 1) % period != 0; });
  read_gemma_ropes(reader, config);
}

}  // namespace

extern constexpr Architecture kGemma3{
    .name = "Gemma3ForCausalLM",
    .model_type = "gemma3_text",
    .tensors = kGemma2Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_gemma3_config,
};

}  // namespace lathe::engine
