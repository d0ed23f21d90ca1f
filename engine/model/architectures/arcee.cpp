// SPDX-License-Identifier: Apache-2.0
// AFM-4.5B: Llama whose MLP has no gate, and squared ReLU. Source: Arcee AI 2025; Hugging Face transformers, ArceeConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_arcee_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_positions = 4096});
  read_rms_norm(reader, config, 1e-5);
  read_whole_rope(reader, config);
  config.activation = read_activation(reader, "hidden_act", "relu2");
  config.is_gated = false;
  read_llama_biases(reader, config);
}

}  // namespace

extern constexpr Architecture kArcee{
    .name = "ArceeForCausalLM",
    .model_type = "arcee",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_arcee_config,
};

}  // namespace lathe::engine
