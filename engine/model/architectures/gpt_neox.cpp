// SPDX-License-Identifier: Apache-2.0
// GPT-NeoX, Pythia. Source: Black et al. 2022; Hugging Face transformers, GPTNeoXConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kGptNeoXTensors = {
    TensorName{WeightRole::embedding, "embed_in.weight"},
    TensorName{WeightRole::attention_norm, "layers.{}.input_layernorm.weight"},
    TensorName{WeightRole::attention_norm_bias, "layers.{}.input_layernorm.bias"},
    TensorName{WeightRole::mlp_norm, "layers.{}.post_attention_layernorm.weight"},
    TensorName{WeightRole::mlp_norm_bias, "layers.{}.post_attention_layernorm.bias"},
    TensorName{WeightRole::qkv, "layers.{}.attention.query_key_value.weight", TensorLayout::kv_groups},
    TensorName{WeightRole::qkv_bias, "layers.{}.attention.query_key_value.bias", TensorLayout::kv_groups},
    TensorName{WeightRole::o, "layers.{}.attention.dense.weight"},
    TensorName{WeightRole::o_bias, "layers.{}.attention.dense.bias"},
    TensorName{WeightRole::up, "layers.{}.mlp.dense_h_to_4h.weight"},
    TensorName{WeightRole::up_bias, "layers.{}.mlp.dense_h_to_4h.bias"},
    TensorName{WeightRole::down, "layers.{}.mlp.dense_4h_to_h.weight"},
    TensorName{WeightRole::down_bias, "layers.{}.mlp.dense_4h_to_h.bias"},
    TensorName{WeightRole::final_norm, "final_layer_norm.weight"},
    TensorName{WeightRole::final_norm_bias, "final_layer_norm.bias"},
    TensorName{WeightRole::head, "embed_out.weight"},
};

// Masks and frequencies that older versions of transformers saved.
constexpr std::array<std::string_view, 3> kGptNeoXIgnored = {".attention.bias", ".attention.masked_bias",
                                                             ".rotary_emb.inv_freq"};

constexpr std::array kGptNeoXPrefixes = {NamePrefix{"gpt_neox."}, NamePrefix{}};

void read_gpt_neox_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {}, {.kv_heads = ""});
  read_layer_norm(reader, config, "layer_norm_eps", 1e-5);
  config.activation = read_activation(reader, "hidden_act", "gelu");
  config.is_gated = false;
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", true);
  config.mlp_bias = true;
  if (reader.boolean_or("use_parallel_residual", true)) config.residual = Residual::parallel_two_norms;
  const RopeDefaults defaults{
      .theta = reader.number_or("rotary_emb_base", 10000, 1, 1e12),
      .rotary_dim = partial_rotary_dim(reader, config.head_dim, reader.number_or("rotary_pct", 0.25, 0, 1), true)};
  config.ropes = {read_rope(reader, defaults, config.max_position_embeddings)};
}

}  // namespace

extern constexpr Architecture kGptNeoX{
    .name = "GPTNeoXForCausalLM",
    .model_type = "gpt_neox",
    .tensors = kGptNeoXTensors,
    .ignored_suffixes = kGptNeoXIgnored,
    .prefixes = kGptNeoXPrefixes,
    .read_config = read_gpt_neox_config,
};

}  // namespace lathe::engine
