// SPDX-License-Identifier: Apache-2.0
// Llama 1, 2 and 3.x, TinyLlama, SmolLM, Yi, CodeLlama. Source: Touvron et al. 2023; Hugging Face transformers, LlamaConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {

extern const Architecture kLlama;

namespace {

void read_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config);
  read_rms_norm(reader, config, 1e-6);
  read_whole_rope(reader, config);
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.mlp_bias = reader.boolean_or("mlp_bias", false);
}

}  // namespace

constexpr Architecture kLlama{
    .name = "LlamaForCausalLM",
    .model_type = "llama",
    .weight_dtypes = kFloatingTypes,
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_config,
};

}  // namespace lathe::engine
