// SPDX-License-Identifier: Apache-2.0
// StarCoder2. Source: Lozhkov et al. 2024; Hugging Face transformers, Starcoder2Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kStarCoder2Tensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention,
                                           std::array{TensorName{WeightRole::up, "layers.{}.mlp.c_fc.weight"},
                                                      TensorName{WeightRole::up_bias, "layers.{}.mlp.c_fc.bias"},
                                                      TensorName{WeightRole::down, "layers.{}.mlp.c_proj.weight"},
                                                      TensorName{WeightRole::down_bias, "layers.{}.mlp.c_proj.bias"}});

void read_starcoder2_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 2, .n_positions = 4096, .tied_embeddings = true});
  read_layer_norm(reader, config, "norm_epsilon", 1e-5);
  read_whole_rope(reader, config);
  config.activation = read_activation(reader, "hidden_act", "gelu_pytorch_tanh");
  config.is_gated = false;
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = reader.boolean_or("use_bias", true);
  const std::int64_t window = reader.integer_or("sliding_window", 0, 0, kMaxPositions);
  read_windows(reader, config, window, [&](std::int64_t) { return window > 0; });
}

}  // namespace

extern constexpr Architecture kStarCoder2{
    .name = "Starcoder2ForCausalLM",
    .model_type = "starcoder2",
    .tensors = kStarCoder2Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_starcoder2_config,
};

}  // namespace lathe::engine
