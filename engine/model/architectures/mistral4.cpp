// SPDX-License-Identifier: Apache-2.0
// Mistral 4: the latent attention of DeepSeek-V3 with queries that grow with the position, and experts chosen by softmax.
// Source: Hugging Face transformers, Mistral4Config.
#include "engine/model/deepseek_config.h"

namespace lathe::engine {
namespace {

constexpr LatentConfig kMistral4Latent{
    .kv_rank = 256, .q_rank = 1024, .qk_nope_head_dim = 64, .qk_rope_head_dim = 64, .v_dim = 128};

void read_mistral4_config(ConfigReader& reader, ModelConfig& config) {
  read_deepseek_parts(reader, config,
                      {.n_positions = 1048576,
                       .n_experts = 128,
                       .top_k = 4,
                       .n_shared = 1,
                       .rms_norm_eps = 1e-6,
                       .latent = kMistral4Latent});
  read_expert_groups(reader, config, 1, 1);
  config.moe.group_score = GroupScore::best_two;
  config.moe.normalises = reader.boolean_or("norm_topk_prob", true);
  if (!has_rope_object(reader)) reader.unmet("RoPE without its parameters (rope_parameters)");
  RopeConfig& rope = config.ropes.front();
  read_query_growth(reader, rope);
  rope.grown_dim = rope.query_growth > 0 ? config.latent.qk_nope_head_dim : 0;
  if (rope.grown_dim > 0 && rope.style != kernels::RopeStyle::interleaved) {
    reader.unmet("queries that grow with their position, rotated in halves (rope_interleave)");
  }
  if (rope.grown_dim % 2 != 0) {
    reader.fault("qk_nope_head_dim", "expected an even number: the numbers of a query grow in pairs");
  }
}

}  // namespace

extern constexpr Architecture kMistral4{
    .name = "Mistral4ForCausalLM",
    .model_type = "mistral4",
    .tensors = kDeepseekTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_mistral4_config,
};

}  // namespace lathe::engine
