// SPDX-License-Identifier: Apache-2.0
// Gemma 2: norms before and after attention and MLP, soft caps, a sliding window in every second layer. Source: Gemma Team
// 2024; Hugging Face transformers, Gemma2Config.
#include "engine/model/gemma_config.h"
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_gemma2_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 4, .head_dim = 256, .n_positions = 8192, .tied_embeddings = true});
  read_gemma_parts(reader, config);
  read_gemma_scores(reader, config, {.attention = 50, .logits = 30});
  read_whole_rope(reader, config);
  config.norm_place = NormPlace::around;
  const std::int64_t window =
      reader.is_null("sliding_window") ? 0 : reader.integer_or("sliding_window", 4096, 1, kMaxPositions);
  read_windows(reader, config, window, [](std::int64_t layer) { return layer % 2 == 0; });
}

}  // namespace

extern constexpr Architecture kGemma2{
    .name = "Gemma2ForCausalLM",
    .model_type = "gemma2",
    .tensors = kGemma2Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_gemma2_config,
};

}  // namespace lathe::engine
