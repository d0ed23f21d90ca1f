// SPDX-License-Identifier: Apache-2.0
// Llama 1, 2 and 3.x, TinyLlama, SmolLM, Yi, CodeLlama. Source: Touvron et al. 2023; Hugging Face transformers, LlamaConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_llama_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config);
  read_llama_biases(reader, config);
}

}  // namespace

extern constexpr Architecture kLlama{
    .name = "LlamaForCausalLM",
    .model_type = "llama",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_llama_config,
};

}  // namespace lathe::engine
