// SPDX-License-Identifier: Apache-2.0
// Hunyuan, dense and with experts: Llama whose Q and K are normalised after RoPE. Source: Tencent 2025; Hugging Face
// transformers, HunYuanDenseV1Config and HunYuanMoEV1Config.
#include <cmath>

#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kHunyuanNorms = {
    TensorName{WeightRole::q_norm, "layers.{}.self_attn.query_layernorm.weight"},
    TensorName{WeightRole::k_norm, "layers.{}.self_attn.key_layernorm.weight"},
    TensorName{WeightRole::attention_norm, "layers.{}.input_layernorm.weight"},
    TensorName{WeightRole::mlp_norm, "layers.{}.post_attention_layernorm.weight"},
};
constexpr std::array kHunyuanAttention = {
    TensorName{WeightRole::q, "layers.{}.self_attn.q_proj.weight"},
    TensorName{WeightRole::k, "layers.{}.self_attn.k_proj.weight"},
    TensorName{WeightRole::v, "layers.{}.self_attn.v_proj.weight"},
    TensorName{WeightRole::o, "layers.{}.self_attn.o_proj.weight"},
    TensorName{WeightRole::q_bias, "layers.{}.self_attn.q_proj.bias"},
    TensorName{WeightRole::k_bias, "layers.{}.self_attn.k_proj.bias"},
    TensorName{WeightRole::v_bias, "layers.{}.self_attn.v_proj.bias"},
    TensorName{WeightRole::o_bias, "layers.{}.self_attn.o_proj.bias"},
};
constexpr std::array kHunyuanExperts = {
    TensorName{WeightRole::router, "layers.{}.mlp.gate.wg.weight"},
    TensorName{WeightRole::expert_gate, "layers.{}.mlp.experts.{}.gate_proj.weight"},
    TensorName{WeightRole::expert_up, "layers.{}.mlp.experts.{}.up_proj.weight"},
    TensorName{WeightRole::expert_down, "layers.{}.mlp.experts.{}.down_proj.weight"},
    TensorName{WeightRole::shared_gate, "layers.{}.mlp.shared_mlp.gate_proj.weight"},
    TensorName{WeightRole::shared_up, "layers.{}.mlp.shared_mlp.up_proj.weight"},
    TensorName{WeightRole::shared_down, "layers.{}.mlp.shared_mlp.down_proj.weight"},
};
constexpr auto kHunyuanDenseTensors = joined(kLlamaEnds, kHunyuanNorms, kHunyuanAttention, kLlamaMlp);
constexpr auto kHunyuanMoeTensors = joined(kLlamaEnds, kHunyuanNorms, kHunyuanAttention, kHunyuanExperts, kFusedExperts);

/// Published files call a fixed theta, theta * alpha^(d / (d - 2)), dynamic scaling.
RopeConfig read_hunyuan_rope(ConfigReader& reader, const ModelConfig& config) {
  const std::string alpha_key = std::string(rope_object(reader)) + ".alpha";
  const double alpha = reader.number_or(alpha_key, 0, 0, 1e9);
  const auto dim = static_cast<double>(config.head_dim);
  if (alpha == 0 || config.head_dim <= 2) {
    return read_rope(reader, {.rotary_dim = config.head_dim}, config.max_position_embeddings);
  }
  const double theta = reader.number_or("rope_theta", 10000, 1, 1e12);
  const double own = reader.number_or(std::string(rope_object(reader)) + ".rope_theta", theta, 1, 1e12);
  return {.theta = own * std::pow(alpha, dim / (dim - 2)), .rotary_dim = config.head_dim};
}

void read_hunyuan_dense(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config);
  read_rms_norm(reader, config, 1e-5);
  config.ropes = {read_hunyuan_rope(reader, config)};
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  if (reader.boolean_or("use_qk_norm", true)) norm_queries(config, QkNorm::head);
  config.norms_after_rope = true;
  if (reader.boolean_or("use_cla", false)) reader.unmet("layers that share the keys and values of others (use_cla)");
}

/// A number that some files give for each layer: one value, or a list of equal ones.
std::int64_t read_hunyuan_uniform(ConfigReader& reader, std::string_view key, std::int64_t fallback, std::int64_t most) {
  if (!reader.is_list(key)) return reader.integer_or(key, fallback, 1, most);
  const std::vector<double> list = reader.numbers(key, static_cast<std::size_t>(kMaxLayers), 1, static_cast<double>(most));
  if (list.empty()) return fallback;
  for (const double number : list) {
    if (number != list.front()) reader.unmet("layers with different numbers of experts (" + std::string(key) + ")");
  }
  return static_cast<std::int64_t>(list.front());
}

void read_hunyuan_moe(ConfigReader& reader, ModelConfig& config) {
  read_hunyuan_dense(reader, config);
  MoeConfig& moe = config.moe;
  moe.n_experts = read_hunyuan_uniform(reader, "num_experts", 1, kMaxExperts);
  moe.top_k = read_hunyuan_uniform(reader, "moe_topk", 1, moe.n_experts);
  moe.expert_size = read_hunyuan_uniform(reader, "moe_intermediate_size", config.intermediate_size, kMaxWidth);
  moe.shared_size = config.intermediate_size * read_hunyuan_uniform(reader, "num_shared_expert", 1, kMaxExperts);
  moe.normalises = true;
  config.layers.resize(static_cast<std::size_t>(config.n_layers));
  for (LayerConfig& layer : config.layers) layer.has_experts = true;
  if (reader.integer_or("num_local_experts", moe.n_experts, 1, kMaxExperts) != moe.n_experts) {
    reader.fault("num_local_experts", "expected the number of num_experts");
  }
}

}  // namespace

extern constexpr Architecture kHunyuan{
    .name = "HunYuanDenseV1ForCausalLM",
    .model_type = "hunyuan_v1_dense",
    .tensors = kHunyuanDenseTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_hunyuan_dense,
};

extern constexpr Architecture kHunyuanMoe{
    .name = "HunYuanMoEV1ForCausalLM",
    .model_type = "hunyuan_v1_moe",
    .tensors = kHunyuanMoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_hunyuan_moe,
};

}  // namespace lathe::engine
