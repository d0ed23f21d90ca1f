// SPDX-License-Identifier: Apache-2.0
// SmolLM3: every fourth layer has no RoPE. Source: Hugging Face transformers, SmolLM3Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_smollm3_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_kv_heads = 4, .n_positions = 32768, .tied_embeddings = true, .rope_theta = 2e6});
  read_llama_biases(reader, config);
  const std::int64_t interval = reader.integer_or("no_rope_layer_interval", 4, 1, kMaxLayers);
  const std::vector<double> listed = reader.numbers("no_rope_layers", static_cast<std::size_t>(kMaxLayers), 0, 1);
  const auto turns = [&](std::int64_t layer) {
    const auto i = static_cast<std::size_t>(layer);
    return i < listed.size() ? listed[i] != 0 : (layer + 1) % interval != 0;
  };
  const bool slides = reader.boolean_or("use_sliding_window", false);
  const std::int64_t window = reader.integer_or("sliding_window", 0, 0, kMaxPositions);
  read_windows(reader, config, slides ? window : 0, [&](std::int64_t layer) { return !turns(layer); });
  for (std::int64_t i = 0; i < config.n_layers; ++i) config.layers[static_cast<std::size_t>(i)].rope = turns(i) ? 0 : -1;
}

}  // namespace

extern constexpr Architecture kSmolLm3{
    .name = "SmolLM3ForCausalLM",
    .model_type = "smollm3",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_smollm3_config,
};

}  // namespace lathe::engine
