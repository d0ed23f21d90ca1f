// SPDX-License-Identifier: Apache-2.0
// AFM (Trinity): norms before and after attention and MLP, a gate on the output of attention, RoPE in the layers with a
// sliding window alone, experts chosen by sigmoids. Source: Arcee AI 2025; Hugging Face transformers, AfmoeConfig.
#include <fmt/format.h>

#include <cmath>

#include "engine/model/deepseek_config.h"

namespace lathe::engine {
namespace {

constexpr auto kAfmoeTensors =
    joined(kLlamaEnds, kLlamaAttention, kLlamaMlp,
           std::array{
               TensorName{WeightRole::attention_norm, "layers.{}.input_layernorm.weight"},
               TensorName{WeightRole::attention_out_norm, "layers.{}.post_attention_layernorm.weight"},
               TensorName{WeightRole::mlp_norm, "layers.{}.pre_mlp_layernorm.weight"},
               TensorName{WeightRole::mlp_out_norm, "layers.{}.post_mlp_layernorm.weight"},
               TensorName{WeightRole::attention_gate, "layers.{}.self_attn.gate_proj.weight"},
               TensorName{WeightRole::router, "layers.{}.mlp.router.gate.weight"},
               TensorName{WeightRole::score_correction_bias, "layers.{}.mlp.expert_bias"},
           },
           kDeepseekExperts, kFusedExperts);

void read_afmoe_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.head_dim = 128, .n_positions = 16384});
  read_rms_norm(reader, config, 1e-5);
  read_whole_rope(reader, config);
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.norm_place = NormPlace::around;
  norm_queries(config, QkNorm::head);
  config.n_attention_gates = config.q_size();
  const std::int64_t window = reader.integer_or("sliding_window", 1024, 1, kMaxPositions);
  const std::int64_t period = reader.integer_or("global_attn_every_n_layers", 4, 1, kMaxLayers);
  read_windows(reader, config, window, [&](std::int64_t layer) { return (layer + 1) % period != 0; });
  drop_rope_of_full_layers(config);
  read_experts(reader, config, 64, 6);
  read_sparse_layers_by_type(reader, config, "num_dense_layers", 1);
  config.moe.shared_size = config.moe.expert_size * reader.integer_or("num_shared_experts", 2, 0, kMaxExperts);
  config.moe.scale = reader.number_or("route_scale", 1, 1e-6, 1e6);
  config.moe.score = RouterScore::sigmoid;
  config.moe.has_score_correction_bias = true;
  config.moe.normalises = reader.boolean_or("route_norm", true);
  const std::string score = reader.text_or("score_func", "sigmoid");
  if (score != "sigmoid") reader.unmet(fmt::format("experts chosen by '{:.32}' (score_func; known: sigmoid)", score));
  if (reader.boolean_or("mup_enabled", false)) {
    config.embedding_multiplier = std::sqrt(static_cast<double>(config.hidden_size));
  }
}

}  // namespace

extern constexpr Architecture kAfmoe{
    .name = "AfmoeForCausalLM",
    .model_type = "afmoe",
    .tensors = kAfmoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_afmoe_config,
};

}  // namespace lathe::engine
