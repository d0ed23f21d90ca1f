// SPDX-License-Identifier: Apache-2.0
// GLM-4.7-Flash: the latent attention and the experts of DeepSeek-V3. The layer for multi-token prediction is left out.
// Source: Hugging Face transformers, Glm4MoeLiteConfig.
#include "engine/model/deepseek_config.h"

namespace lathe::engine {
namespace {

constexpr LatentConfig kGlm4MoeLiteLatent{
    .kv_rank = 512, .q_rank = 768, .qk_nope_head_dim = 192, .qk_rope_head_dim = 64, .v_dim = 256};

void read_glm4_moe_lite_config(ConfigReader& reader, ModelConfig& config) {
  read_deepseek_parts(reader, config,
                      {.n_positions = 202752,
                       .n_experts = 64,
                       .top_k = 4,
                       .n_shared = 1,
                       .n_dense = 1,
                       .expert_scale = 1.8,
                       .rms_norm_eps = 1e-5,
                       .latent = kGlm4MoeLiteLatent});
  read_sigmoid_router(reader, config, 1, 1);
}

}  // namespace

extern constexpr Architecture kGlm4MoeLite{
    .name = "Glm4MoeLiteForCausalLM",
    .model_type = "glm4_moe_lite",
    .tensors = kDeepseekTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_glm4_moe_lite_config,
};

}  // namespace lathe::engine
