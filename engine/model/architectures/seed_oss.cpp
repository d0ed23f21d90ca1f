// SPDX-License-Identifier: Apache-2.0
// Seed-OSS: Llama with biases on Q, K and V. Source: Hugging Face transformers, SeedOssConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_seed_oss_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_kv_heads = 8, .head_dim = 128});
  config.qkv_bias = reader.boolean_or("attention_bias", true);
  config.attention_out_bias = reader.boolean_or("attention_out_bias", false);
  config.mlp_bias = reader.boolean_or("mlp_bias", false);
}

}  // namespace

extern constexpr Architecture kSeedOss{
    .name = "SeedOssForCausalLM",
    .model_type = "seed_oss",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_seed_oss_config,
};

}  // namespace lathe::engine
