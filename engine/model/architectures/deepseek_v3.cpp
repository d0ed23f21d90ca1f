// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V3, R1, Kimi K2. Source: DeepSeek-AI 2024; Hugging Face transformers, DeepseekV3Config. The layer for multi-token
// prediction is left out.
#include "engine/model/deepseek_config.h"

namespace lathe::engine {
namespace {

void read_deepseek_v3_config(ConfigReader& reader, ModelConfig& config) {
  read_deepseek_parts(reader, config,
                      {.n_positions = 4096, .n_experts = 256, .top_k = 8, .n_shared = 1, .n_dense = 3, .expert_scale = 2.5});
  read_sigmoid_router(reader, config, 8, 4);
}

}  // namespace

extern constexpr Architecture kDeepseekV3{
    .name = "DeepseekV3ForCausalLM",
    .model_type = "deepseek_v3",
    .tensors = kDeepseekTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_deepseek_v3_config,
};

}  // namespace lathe::engine
