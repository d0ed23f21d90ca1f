// SPDX-License-Identifier: Apache-2.0
// OLMo 3: OLMo 2 with a sliding window in three layers of four; scaled RoPE in the others only. Source: Hugging Face
// transformers, Olmo3Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

/// RoPE of the layers with a window, which is not scaled where the file has one RoPE for all layers.
RopeConfig read_local_rope(ConfigReader& reader, const ModelConfig& config, double theta) {
  const RopeDefaults defaults{.theta = theta, .rotary_dim = config.head_dim};
  if (reader.has("rope_parameters.sliding_attention")) {
    return read_rope(reader, defaults, config.max_position_embeddings, "sliding_attention");
  }
  return {.theta = theta, .rotary_dim = config.head_dim};
}

void read_olmo3_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_positions = 2048});
  read_rms_norm(reader, config, 1e-5);
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.norm_place = NormPlace::behind;
  norm_queries(config, QkNorm::all_heads);
  const std::int64_t window =
      reader.is_null("sliding_window") ? 0 : reader.integer_or("sliding_window", 4096, 1, kMaxPositions);
  read_windows(reader, config, window, [](std::int64_t layer) { return (layer + 1) % 4 != 0; });
  const RopeDefaults full{.theta = 5e5, .rotary_dim = config.head_dim};
  const RopeConfig rope = read_rope(reader, full, config.max_position_embeddings, "full_attention");
  config.ropes = {rope, read_local_rope(reader, config, rope.theta)};
  for (LayerConfig& layer : config.layers) layer.rope = layer.window > 0 ? 1 : 0;
}

}  // namespace

extern constexpr Architecture kOlmo3{
    .name = "Olmo3ForCausalLM",
    .model_type = "olmo3",
    .tensors = kNormsBehindTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_olmo3_config,
};

}  // namespace lathe::engine
