// SPDX-License-Identifier: Apache-2.0
// LFM2-MoE: LFM2 with experts in all but the first layers. Source: Hugging Face transformers, Lfm2MoeConfig.
#include "engine/model/lfm2_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kLfm2MoeExperts = {
    TensorName{WeightRole::router, "layers.{}.feed_forward.gate.weight"},
    TensorName{WeightRole::score_correction_bias, "layers.{}.feed_forward.expert_bias"},
    TensorName{WeightRole::expert_gate, "layers.{}.feed_forward.experts.{}.w1.weight"},
    TensorName{WeightRole::expert_up, "layers.{}.feed_forward.experts.{}.w3.weight"},
    TensorName{WeightRole::expert_down, "layers.{}.feed_forward.experts.{}.w2.weight"},
    TensorName{WeightRole::expert_gate_up, "layers.{}.feed_forward.experts.{}.gate_up_proj"},
    TensorName{WeightRole::expert_down, "layers.{}.feed_forward.experts.{}.down_proj"},
};
constexpr auto kLfm2MoeTensors = joined(kLfm2Tensors, kLfm2MoeExperts);

void read_lfm2_moe_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 8, .n_positions = 128'000, .tied_embeddings = true}, {.inner = ""});
  config.intermediate_size = reader.integer_or("intermediate_size", 7168, 1, kMaxWidth);
  read_lfm2_parts(reader, config);
  read_experts(reader, config, 32, 4, {.usual_size = 1792});
  const std::int64_t n_dense = reader.integer_or("num_dense_layers", 2, 0, kMaxLayers);
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].has_experts = static_cast<std::int64_t>(i) >= n_dense;
  }
  config.moe.score = RouterScore::sigmoid;
  config.moe.normalises = reader.boolean_or("norm_topk_prob", true);
  config.moe.scale = reader.number_or("routed_scaling_factor", 1, 1e-6, 1e6);
  config.moe.has_score_correction_bias = reader.boolean_or("use_expert_bias", true);
}

}  // namespace

extern constexpr Architecture kLfm2Moe{
    .name = "Lfm2MoeForCausalLM",
    .model_type = "lfm2_moe",
    .tensors = kLfm2MoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_lfm2_moe_config,
};

}  // namespace lathe::engine
