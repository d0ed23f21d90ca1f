// SPDX-License-Identifier: Apache-2.0
// Nemotron-4 and Minitron: layer norms whose weight is stored minus one, RoPE on half of each head, an MLP without a gate
// and with squared ReLU. Source: NVIDIA 2024; Hugging Face transformers, NemotronConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_nemotron_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_positions = 4096});
  read_layer_norm(reader, config, "norm_eps", 1e-5);
  config.norm.plus_one = true;
  read_partial_rope(reader, config, {.factor = 0.5});
  config.activation = read_activation(reader, "hidden_act", "relu2");
  config.is_gated = false;
  read_llama_biases(reader, config);
}

}  // namespace

extern constexpr Architecture kNemotron{
    .name = "NemotronForCausalLM",
    .model_type = "nemotron",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_nemotron_config,
};

}  // namespace lathe::engine
