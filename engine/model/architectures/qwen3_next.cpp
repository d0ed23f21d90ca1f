// SPDX-License-Identifier: Apache-2.0
// Qwen3-Next and Qwen3-Coder-Next: three of four layers are gated delta nets, all with experts. The layers for multi-token
// prediction are left out. Source: Hugging Face transformers, Qwen3NextConfig.
#include "engine/model/qwen3_next_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kQwen3NextFusedInputs = {
    TensorName{WeightRole::delta_qkvz, "layers.{}.linear_attn.in_proj_qkvz.weight"},
    TensorName{WeightRole::delta_ba, "layers.{}.linear_attn.in_proj_ba.weight"},
};
constexpr auto kQwen3NextTensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp, kQwenExperts, kFusedExperts,
                                          kDeltaNetTensors, kDeltaNetQkv, kQwen3NextFusedInputs);

void read_qwen3_next_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 2, .head_dim = 256, .n_positions = 32768});
  read_qwen3_next_parts(reader, config);
  read_qwen3_next_experts(reader, config, 512, 10);
  read_sparse_layers(reader, config);
  config.moe.normalises = reader.boolean_or("norm_topk_prob", true);
}

}  // namespace

extern constexpr Architecture kQwen3Next{
    .name = "Qwen3NextForCausalLM",
    .model_type = "qwen3_next",
    .tensors = kQwen3NextTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_qwen3_next_config,
};

}  // namespace lathe::engine
