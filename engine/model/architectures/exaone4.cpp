// SPDX-License-Identifier: Apache-2.0
// EXAONE 4: norms after attention and MLP; in models with sliding windows, layers that see the whole context have no RoPE.
// Source: Hugging Face transformers, Exaone4Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_exaone4_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.rms_norm_eps = 1e-5});
  config.norm_place = NormPlace::behind;
  norm_queries(config, QkNorm::head);
  const std::int64_t window =
      reader.is_null("sliding_window") ? 0 : reader.integer_or("sliding_window", 4096, 1, kMaxPositions);
  // Files with layer_types may have the pattern as text ("LLLG"), files without windows as 0.
  const bool has_period = window > 0 && !reader.has("layer_types");
  const std::int64_t period = has_period ? reader.integer_or("sliding_window_pattern", 4, 1, kMaxLayers) : 1;
  read_windows(reader, config, window, [&](std::int64_t layer) { return (layer + 1) % period != 0; });
  for (LayerConfig& layer : config.layers) layer.rope = window > 0 && layer.window == 0 ? -1 : 0;
}

}  // namespace

extern constexpr Architecture kExaone4{
    .name = "Exaone4ForCausalLM",
    .model_type = "exaone4",
    .tensors = kNormsBehindTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_exaone4_config,
};

}  // namespace lathe::engine
