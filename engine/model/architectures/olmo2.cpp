// SPDX-License-Identifier: Apache-2.0
// OLMo 2: norms after attention and MLP, Q and K normalised over all heads. Source: OLMo et al. 2024; Hugging Face
// transformers, Olmo2Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_olmo2_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.rms_norm_eps = 1e-5});
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.norm_place = NormPlace::behind;
  norm_queries(config, QkNorm::all_heads);
}

}  // namespace

extern constexpr Architecture kOlmo2{
    .name = "Olmo2ForCausalLM",
    .model_type = "olmo2",
    .tensors = kNormsBehindTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_olmo2_config,
};

}  // namespace lathe::engine
