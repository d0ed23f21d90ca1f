// SPDX-License-Identifier: Apache-2.0
// StableLM 2, 3B and 12B: layer norms, RoPE on a quarter of each head; the 12B normalises each head of Q and K with its own
// weight. Source: Hugging Face transformers, StableLmConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kStableLmTensors = joined(
    kLlamaTensors, std::array{TensorName{WeightRole::q_head_norm, "layers.{}.self_attn.q_layernorm.norms.{}.weight"},
                              TensorName{WeightRole::k_head_norm, "layers.{}.self_attn.k_layernorm.norms.{}.weight"}});

void read_stablelm_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_positions = 4096});
  read_layer_norm(reader, config, "layer_norm_eps", 1e-5);
  read_partial_rope(reader, config, {.factor = 0.25});
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = reader.boolean_or("use_qkv_bias", false);
  if (reader.boolean_or("use_parallel_residual", false)) config.residual = Residual::parallel;
  if (reader.boolean_or("qk_layernorm", false)) {
    norm_queries(config, QkNorm::own_heads);
    config.qk_norm_form.has_bias = false;
  }
}

}  // namespace

extern constexpr Architecture kStableLm{
    .name = "StableLmForCausalLM",
    .model_type = "stablelm",
    .tensors = kStableLmTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_stablelm_config,
};

}  // namespace lathe::engine
