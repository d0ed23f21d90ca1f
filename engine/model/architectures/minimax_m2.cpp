// SPDX-License-Identifier: Apache-2.0
// MiniMax M2: experts in every layer, chosen as in DeepSeek-V3; Q and K normalised over all heads; RoPE on a part of each
// head. Source: Hugging Face transformers, MiniMaxM2Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kMiniMaxM2Tensors =
    joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kMixtralExperts,
           std::array{TensorName{WeightRole::router, "layers.{}.mlp.gate.weight"},
                      TensorName{WeightRole::score_correction_bias, "layers.{}.block_sparse_moe.e_score_correction_bias"},
                      TensorName{WeightRole::score_correction_bias, "layers.{}.mlp.e_score_correction_bias"}},
           kFusedExperts);

void read_minimax_m2_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 8, .head_dim = 128, .n_positions = 196608});
  read_rms_norm(reader, config, 1e-6);
  // Published files give the size of the part, transformers its factor.
  const std::int64_t rotated = reader.integer_or("rotary_dim", config.head_dim, 1, config.head_dim);
  const double part = static_cast<double>(rotated) / static_cast<double>(config.head_dim);
  read_partial_rope(reader, config, {.factor = part, .theta = 5e6, .may_be_odd = true});
  config.activation = read_activation(reader, "hidden_act", "silu");
  norm_queries(config, QkNorm::all_heads);
  if (!reader.boolean_or("use_qk_norm", true)) reader.unmet("Q and K that are not normalised (use_qk_norm)");
  read_experts(reader, config, 256, 8, {.size = "intermediate_size"});
  config.moe.score = RouterScore::sigmoid;
  config.moe.has_score_correction_bias = true;
  config.moe.normalises = true;
}

}  // namespace

extern constexpr Architecture kMiniMaxM2{
    .name = "MiniMaxM2ForCausalLM",
    .model_type = "minimax_m2",
    .tensors = kMiniMaxM2Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_minimax_m2_config,
};

}  // namespace lathe::engine
