// SPDX-License-Identifier: Apache-2.0
// gpt-oss: experts with biases and a clamped gate in every layer, a sliding window in every second layer, a sink for each
// head. Source: OpenAI 2025; Hugging Face transformers, GptOssConfig. GGUF files have separate tensors for gate and up of
// experts.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

// Constants of the kernels' clamped SiLU.
constexpr double kAlpha = 1.702, kLimit = 7;

constexpr auto kGptOssTensors = joined(
    kLlamaEnds, kLlamaNorms, kLlamaAttention,
    std::array{
        TensorName{WeightRole::sinks, "layers.{}.self_attn.sinks"},
        TensorName{WeightRole::router, "layers.{}.mlp.router.weight"},
        TensorName{WeightRole::router_bias, "layers.{}.mlp.router.bias"},
        TensorName{WeightRole::expert_gate_up, "layers.{}.mlp.experts.{}.gate_up_proj", TensorLayout::transposed_pairs},
        TensorName{WeightRole::expert_gate_up_bias, "layers.{}.mlp.experts.{}.gate_up_proj_bias", TensorLayout::row_pairs},
        TensorName{WeightRole::expert_down, "layers.{}.mlp.experts.{}.down_proj", TensorLayout::transposed},
        TensorName{WeightRole::expert_down_bias, "layers.{}.mlp.experts.{}.down_proj_bias"},
        TensorName{WeightRole::expert_gate, "layers.{}.mlp.experts.{}.gate_proj.weight"},
        TensorName{WeightRole::expert_gate_bias, "layers.{}.mlp.experts.{}.gate_proj.bias"},
        TensorName{WeightRole::expert_up, "layers.{}.mlp.experts.{}.up_proj.weight"},
        TensorName{WeightRole::expert_up_bias, "layers.{}.mlp.experts.{}.up_proj.bias"},
        TensorName{WeightRole::expert_down, "layers.{}.mlp.experts.{}.down_proj.weight"},
        TensorName{WeightRole::expert_down_bias, "layers.{}.mlp.experts.{}.down_proj.bias"},
    });

/// RoPE of a file without a RoPE object is scaled by YaRN, too.
RopeConfig read_stretched_rope(ConfigReader& reader, const ModelConfig& config) {
  const RopeDefaults defaults{.theta = 150000, .rotary_dim = config.head_dim};
  RopeConfig rope = read_rope(reader, defaults, config.max_position_embeddings);
  if (has_rope_object(reader)) return rope;
  rope.scaling = RopeScaling::yarn;
  rope.factor = 32;
  rope.original_max_position_embeddings = 4096;
  rope.truncate = false;
  return rope;
}

void read_gpt_oss_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 8, .head_dim = 64, .n_positions = 131072});
  read_rms_norm(reader, config, 1e-5);
  config.ropes = {read_stretched_rope(reader, config)};
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", true);
  config.has_sinks = true;
  const std::int64_t window = reader.integer_or("sliding_window", 128, 1, kMaxPositions);
  read_windows(reader, config, window, [](std::int64_t layer) { return layer % 2 == 0; });
  read_experts(reader, config, 128, 4, {.size = "intermediate_size"});
  config.moe.score = RouterScore::softmax_chosen;
  config.moe.has_router_bias = config.moe.has_expert_bias = true;
  if (read_activation(reader, "hidden_act", "silu") != kernels::Activation::silu) {
    reader.unmet("expert gates other than a clamped SiLU (hidden_act)");
  }
  config.activation = kernels::Activation::clamped_silu;
  const double alpha = reader.number_or("swiglu_alpha", kAlpha, 0, 1e6),
               limit = reader.number_or("swiglu_limit", kLimit, 0, 1e6);
  if (alpha != kAlpha || limit != kLimit) {
    reader.unmet("expert gates with other numbers than 1.702 and 7 (swiglu_alpha, swiglu_limit)");
  }
}

}  // namespace

extern constexpr Architecture kGptOss{
    .name = "GptOssForCausalLM",
    .model_type = "gpt_oss",
    .tensors = kGptOssTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_gpt_oss_config,
};

}  // namespace lathe::engine
