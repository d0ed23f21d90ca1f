// SPDX-License-Identifier: Apache-2.0
// Granite 3: multipliers of the embeddings, of the outputs of attention and MLP, of the scores and of the logits. Source:
// Hugging Face transformers, GraniteConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_granite_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config);
  read_llama_biases(reader, config);
  read_granite_factors(reader, config);
}

}  // namespace

extern constexpr Architecture kGranite{
    .name = "GraniteForCausalLM",
    .model_type = "granite",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_granite_config,
};

}  // namespace lathe::engine
