// SPDX-License-Identifier: Apache-2.0
// Qwen 3: each head of Q and K is normalised. Source: Yang et al. 2025; Hugging Face transformers, Qwen3Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_qwen3_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.head_dim = 128, .n_positions = 32768});
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  read_upper_windows(reader, config);
  norm_queries(config, QkNorm::head);
}

}  // namespace

extern constexpr Architecture kQwen3{
    .name = "Qwen3ForCausalLM",
    .model_type = "qwen3",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_qwen3_config,
};

}  // namespace lathe::engine
