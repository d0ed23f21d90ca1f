// SPDX-License-Identifier: Apache-2.0
// Qwen 3.5 and 3.6 MoE: Qwen 3.5 with routed experts and a shared one. Source: Hugging Face transformers,
// Qwen3_5MoeTextConfig.
#include "engine/model/qwen3_next_config.h"

namespace lathe::engine {
namespace {

constexpr auto kQwen35MoeTensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kQwenExperts, kFusedExperts,
                                          kDeltaNetTensors, kDeltaNetQkv, kDeltaNetRates);
constexpr std::array<std::string_view, 1> kQwen35MoeOtherNames = {"qwen3_5_moe"};

void read_qwen3_5_moe_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 2, .head_dim = 256, .n_positions = 32768}, {.inner = ""});
  read_qwen3_next_parts(reader, config);
  read_qwen3_next_experts(reader, config, 256, 8);
  config.moe.normalises = true;
}

}  // namespace

extern constexpr Architecture kQwen35Moe{
    .name = "Qwen3_5MoeForCausalLM",
    .model_type = "qwen3_5_moe_text",
    .tensors = kQwen35MoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_qwen3_5_moe_config,
    .other_names = kQwen35MoeOtherNames,
};

}  // namespace lathe::engine
