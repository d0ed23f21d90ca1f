// SPDX-License-Identifier: Apache-2.0
// Command R7B, A: as Command R, but three layers in four have a sliding window and RoPE, the others neither. Source: Hugging
// Face transformers, Cohere2Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_cohere2_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_positions = 8192, .tied_embeddings = true});
  read_layer_norm(reader, config, "layer_norm_eps", 1e-5, false);
  config.ropes = {read_rope(reader, {.rotary_dim = config.head_dim, .style = kernels::RopeStyle::interleaved},
                            config.max_position_embeddings)};
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.residual = Residual::parallel;
  config.logit_multiplier = reader.number_or("logit_scale", 0.0625, 1e-6, 1e6);
  const std::int64_t window = reader.integer_or("sliding_window", 4096, 1, kMaxPositions);
  const std::int64_t period = reader.integer_or("sliding_window_pattern", 4, 1, kMaxLayers);
  read_windows(reader, config, window, [&](std::int64_t layer) { return (layer + 1) % period != 0; });
  drop_rope_of_full_layers(config);
}

}  // namespace

extern constexpr Architecture kCohere2{
    .name = "Cohere2ForCausalLM",
    .model_type = "cohere2",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_cohere2_config,
};

}  // namespace lathe::engine
