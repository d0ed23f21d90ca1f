// SPDX-License-Identifier: Apache-2.0
// OLMo: Llama with layer norms that have neither weight nor bias. Source: Groeneveld et al. 2024; Hugging Face transformers,
// OlmoConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_olmo_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config);
  config.norm = {.kind = kernels::NormKind::layer, .eps = 1e-5, .is_weightless = true};
  read_whole_rope(reader, config);
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.clip_qkv = reader.number_or("clip_qkv", 0, 0, 1e6);
}

}  // namespace

extern constexpr Architecture kOlmo{
    .name = "OlmoForCausalLM",
    .model_type = "olmo",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_olmo_config,
};

}  // namespace lathe::engine
