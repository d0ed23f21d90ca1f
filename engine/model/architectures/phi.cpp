// SPDX-License-Identifier: Apache-2.0
// Phi-1, 1.5 and 2. Source: Li et al. 2023; Hugging Face transformers, PhiConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kPhiTensors = {
    TensorName{WeightRole::embedding, "embed_tokens.weight"},
    TensorName{WeightRole::attention_norm, "layers.{}.input_layernorm.weight"},
    TensorName{WeightRole::attention_norm_bias, "layers.{}.input_layernorm.bias"},
    TensorName{WeightRole::q, "layers.{}.self_attn.q_proj.weight"},
    TensorName{WeightRole::q_bias, "layers.{}.self_attn.q_proj.bias"},
    TensorName{WeightRole::k, "layers.{}.self_attn.k_proj.weight"},
    TensorName{WeightRole::k_bias, "layers.{}.self_attn.k_proj.bias"},
    TensorName{WeightRole::v, "layers.{}.self_attn.v_proj.weight"},
    TensorName{WeightRole::v_bias, "layers.{}.self_attn.v_proj.bias"},
    TensorName{WeightRole::o, "layers.{}.self_attn.dense.weight"},
    TensorName{WeightRole::o_bias, "layers.{}.self_attn.dense.bias"},
    TensorName{WeightRole::q_norm, "layers.{}.self_attn.q_layernorm.weight"},
    TensorName{WeightRole::q_norm_bias, "layers.{}.self_attn.q_layernorm.bias"},
    TensorName{WeightRole::k_norm, "layers.{}.self_attn.k_layernorm.weight"},
    TensorName{WeightRole::k_norm_bias, "layers.{}.self_attn.k_layernorm.bias"},
    TensorName{WeightRole::up, "layers.{}.mlp.fc1.weight"},
    TensorName{WeightRole::up_bias, "layers.{}.mlp.fc1.bias"},
    TensorName{WeightRole::down, "layers.{}.mlp.fc2.weight"},
    TensorName{WeightRole::down_bias, "layers.{}.mlp.fc2.bias"},
    TensorName{WeightRole::final_norm, "final_layernorm.weight"},
    TensorName{WeightRole::final_norm_bias, "final_layernorm.bias"},
    TensorName{WeightRole::head, "lm_head.weight"},
    TensorName{WeightRole::head_bias, "lm_head.bias"},
};

void read_phi_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config);
  read_layer_norm(reader, config, "layer_norm_eps", 1e-5);
  read_partial_rope(reader, config, {.factor = 0.5});
  config.activation = read_activation(reader, "hidden_act", "gelu_new");
  config.is_gated = false;
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = config.head_bias = true;
  config.residual = Residual::parallel;
  if (reader.boolean_or("qk_layernorm", false)) {
    norm_queries(config, QkNorm::head);
  }
}

}  // namespace

extern constexpr Architecture kPhi{
    .name = "PhiForCausalLM",
    .model_type = "phi",
    .tensors = kPhiTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_phi_config,
};

}  // namespace lathe::engine
