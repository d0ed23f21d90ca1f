// SPDX-License-Identifier: Apache-2.0
// Qwen 2 and 2.5: biases on Q, K and V. Source: Yang et al. 2024; Hugging Face transformers, Qwen2Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_qwen2_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_positions = 32768});
  config.qkv_bias = true;
  read_upper_windows(reader, config);
}

}  // namespace

extern constexpr Architecture kQwen2{
    .name = "Qwen2ForCausalLM",
    .model_type = "qwen2",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_qwen2_config,
};

}  // namespace lathe::engine
