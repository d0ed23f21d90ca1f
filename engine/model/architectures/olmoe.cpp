// SPDX-License-Identifier: Apache-2.0
// OLMoE: Llama with Qwen's experts, and Q and K normalised over all heads. Source: Muennighoff et al. 2024; Hugging Face
// transformers, OlmoeConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kOlmoeTensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kQwenExperts, kFusedExperts);

void read_olmoe_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_positions = 4096, .rms_norm_eps = 1e-5});
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  norm_queries(config, QkNorm::all_heads);
  read_experts(reader, config, 64, 8, {.size = "intermediate_size"});
  config.moe.normalises = reader.boolean_or("norm_topk_prob", false);
}

}  // namespace

extern constexpr Architecture kOlmoe{
    .name = "OlmoeForCausalLM",
    .model_type = "olmoe",
    .tensors = kOlmoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_olmoe_config,
};

}  // namespace lathe::engine
