// SPDX-License-Identifier: Apache-2.0
// ERNIE 4.5 with experts, chosen by softmax and a correction bias. Source: Baidu 2025; Hugging Face transformers,
// Ernie4_5_MoeConfig.
#include "engine/model/deepseek_config.h"

namespace lathe::engine {
namespace {

constexpr auto kErnieMoeTensors =
    joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp,
           std::array{TensorName{WeightRole::score_correction_bias, "layers.{}.mlp.moe_statics.e_score_correction_bias",
                                 TensorLayout::one_row},
                      TensorName{WeightRole::score_correction_bias, "layers.{}.mlp.gate.moe_statics.e_score_correction_bias",
                                 TensorLayout::one_row}},
           kDeepseekExperts, kFusedExperts);

/// Reads which layers have experts: every `moe_layer_interval`th from a first to a last one.
void read_ernie_moe_expert_layers(ConfigReader& reader, ModelConfig& config) {
  const std::int64_t first = reader.integer_or("moe_layer_start_index", 1, 0, kMaxLayers);
  const std::int64_t last = reader.integer_or("moe_layer_end_index", -1, -1, kMaxLayers);
  const std::int64_t period = reader.integer_or("moe_layer_interval", 1, 1, kMaxLayers);
  for (std::int64_t i = 0; i < config.n_layers; ++i) {
    const bool is_between = i >= first && (last < 0 || i <= last);
    config.layers[static_cast<std::size_t>(i)].has_experts = is_between && (i + 1) % period == 0;
  }
}

void read_ernie_moe_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 4, .n_positions = 131072, .tied_embeddings = true});
  read_rms_norm(reader, config, 1e-5);
  config.ropes = {read_rope(reader, {.theta = 5e5, .rotary_dim = config.head_dim, .style = kernels::RopeStyle::interleaved},
                            config.max_position_embeddings)};
  config.activation = read_activation(reader, "hidden_act", "silu");
  if (reader.boolean_or("use_bias", false)) reader.unmet("biases of layers with experts (use_bias)");
  read_experts(reader, config, 64, 6, {.n_experts = "moe_num_experts", .top_k = "moe_k"});
  read_ernie_moe_expert_layers(reader, config);
  config.moe.shared_size = config.moe.expert_size * reader.integer_or("moe_num_shared_experts", 2, 0, kMaxExperts);
  config.moe.has_score_correction_bias = true;
  config.moe.normalises = true;
}

}  // namespace

extern constexpr Architecture kErnie45Moe{
    .name = "Ernie4_5_MoeForCausalLM",
    .model_type = "ernie4_5_moe",
    .tensors = kErnieMoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_ernie_moe_config,
};

}  // namespace lathe::engine
