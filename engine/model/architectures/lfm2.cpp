// SPDX-License-Identifier: Apache-2.0
// LFM2 and LFM2.5. Source: Liquid AI 2025; Hugging Face transformers, Lfm2Config.
#include "engine/model/lfm2_config.h"

namespace lathe::engine {
namespace {

/// The width of the MLP that follows from the one in the file, unless the file says that it is the width itself.
std::int64_t adjusted_width(ConfigReader& reader, std::int64_t width) {
  const std::int64_t multiple = reader.integer_or("block_multiple_of", 256, 1, kMaxWidth);
  const double factor = reader.number_or("block_ffn_dim_multiplier", 1, 1e-3, 1e3);
  if (!reader.boolean_or("block_auto_adjust_ff_dim", true)) return width;
  const auto thirds = static_cast<std::int64_t>(2 * static_cast<double>(width) / 3);
  const auto scaled = static_cast<std::int64_t>(factor * static_cast<double>(thirds));
  return (scaled + multiple - 1) / multiple * multiple;
}

void read_lfm2_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 8, .n_positions = 128'000, .tied_embeddings = true}, {.inner = ""});
  const bool has_own_key = reader.has("block_ff_dim");
  const std::int64_t width = has_own_key ? reader.integer("block_ff_dim", 1, kMaxWidth)
                                         : reader.integer_or("intermediate_size", 12288, 1, kMaxWidth);
  config.intermediate_size = adjusted_width(reader, width);
  read_lfm2_parts(reader, config);
}

}  // namespace

extern constexpr Architecture kLfm2{
    .name = "Lfm2ForCausalLM",
    .model_type = "lfm2",
    .tensors = kLfm2Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_lfm2_config,
};

}  // namespace lathe::engine
