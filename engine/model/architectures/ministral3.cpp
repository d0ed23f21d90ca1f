// SPDX-License-Identifier: Apache-2.0
// Ministral 3: Mistral whose queries grow with the position. Source: Hugging Face transformers, Ministral3Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

/// RoPE of a file without a RoPE object: scaled by YaRN, too; a rope_theta at top level is then ignored.
RopeConfig usual_rope(const ModelConfig& config) {
  return {.theta = 1e6,
          .rotary_dim = config.head_dim,
          .scaling = RopeScaling::yarn,
          .factor = 16,
          .original_max_position_embeddings = 16384,
          .mscale = 1,
          .mscale_all_dim = 1,
          .query_growth = 0.1};
}

void read_rope_and_growth(ConfigReader& reader, ModelConfig& config) {
  RopeConfig& rope = config.ropes.front();
  if (!has_rope_object(reader)) {
    rope = usual_rope(config);
    return;
  }
  read_query_growth(reader, rope);
}

void read_ministral3_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_kv_heads = 8, .head_dim = 128, .n_positions = 262144, .rms_norm_eps = 1e-5});
  read_rope_and_growth(reader, config);
  const std::int64_t window = reader.integer_or("sliding_window", 0, 0, kMaxPositions);
  read_windows(reader, config, window, [&](std::int64_t) { return window > 0; });
}

}  // namespace

extern constexpr Architecture kMinistral3{
    .name = "Ministral3ForCausalLM",
    .model_type = "ministral3",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_ministral3_config,
};

}  // namespace lathe::engine
