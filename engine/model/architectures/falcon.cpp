// SPDX-License-Identifier: Apache-2.0
// Falcon 7B, 40B, 180B, RW and 2 11B. Source: Almazrouei et al. 2023; Hugging Face transformers, FalconConfig. The ALiBi of
// RW is computed in bfloat16, whatever type the weights have: positions, slopes and their products are rounded to it.
#include <cmath>

#include "engine/model/alibi.h"
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kFalconTensors = {
    TensorName{WeightRole::embedding, "word_embeddings.weight"},
    TensorName{WeightRole::attention_norm, "h.{}.input_layernorm.weight"},
    TensorName{WeightRole::attention_norm, "h.{}.ln_attn.weight"},
    TensorName{WeightRole::attention_norm_bias, "h.{}.input_layernorm.bias"},
    TensorName{WeightRole::attention_norm_bias, "h.{}.ln_attn.bias"},
    TensorName{WeightRole::mlp_norm, "h.{}.post_attention_layernorm.weight"},
    TensorName{WeightRole::mlp_norm, "h.{}.ln_mlp.weight"},
    TensorName{WeightRole::mlp_norm_bias, "h.{}.post_attention_layernorm.bias"},
    TensorName{WeightRole::mlp_norm_bias, "h.{}.ln_mlp.bias"},
    TensorName{WeightRole::qkv, "h.{}.self_attention.query_key_value.weight", TensorLayout::kv_groups},
    TensorName{WeightRole::qkv_bias, "h.{}.self_attention.query_key_value.bias", TensorLayout::kv_groups},
    TensorName{WeightRole::o, "h.{}.self_attention.dense.weight"},
    TensorName{WeightRole::o_bias, "h.{}.self_attention.dense.bias"},
    TensorName{WeightRole::up, "h.{}.mlp.dense_h_to_4h.weight"},
    TensorName{WeightRole::up_bias, "h.{}.mlp.dense_h_to_4h.bias"},
    TensorName{WeightRole::down, "h.{}.mlp.dense_4h_to_h.weight"},
    TensorName{WeightRole::down_bias, "h.{}.mlp.dense_4h_to_h.bias"},
    TensorName{WeightRole::final_norm, "ln_f.weight"},
    TensorName{WeightRole::final_norm_bias, "ln_f.bias"},
    TensorName{WeightRole::head, "lm_head.weight"},
};

constexpr std::array<std::string_view, 3> kFalconOtherNames = {"RWForCausalLM", "RefinedWeb", "RefinedWebModel"};

void read_falcon_config(ConfigReader& reader, ModelConfig& config) {
  // The first files name the model RefinedWeb, and have a key for KV heads only if the architecture is the new one.
  const bool has_old_kv_heads = reader.has("n_head_kv") && !reader.has("num_kv_heads");
  const bool is_new = reader.boolean_or("new_decoder_architecture", has_old_kv_heads);
  const bool has_one_kv_head = !is_new && reader.boolean_or("multi_query", true);
  read_sizes(reader, config, {.n_kv_heads = has_one_kv_head ? 1 : 0, .tied_embeddings = true},
             {.hidden = reader.has("n_embed") ? "n_embed" : "hidden_size",
              .inner = "",
              .layers = reader.has("n_layer") ? "n_layer" : "num_hidden_layers",
              .heads = reader.has("n_head") ? "n_head" : "num_attention_heads",
              .kv_heads = !is_new            ? ""
                          : has_old_kv_heads ? "n_head_kv"
                                             : "num_kv_heads"});
  config.intermediate_size = reader.integer_or("ffn_hidden_size", 4 * config.hidden_size, 1, kMaxWidth);
  read_layer_norm(reader, config, "layer_norm_epsilon", 1e-5);
  config.activation = read_activation(reader, "activation", "gelu");
  config.is_gated = false;
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = reader.boolean_or("bias", false);
  const bool is_parallel = reader.boolean_or("parallel_attn", true);
  if (is_new || is_parallel) {
    const std::int64_t n_norms = reader.integer_or("num_ln_in_parallel_attn", is_new ? 2 : 1, 1, 2);
    config.residual = is_new && n_norms == 2 ? Residual::parallel_two_norms : Residual::parallel;
  }
  if (reader.boolean_or("alibi", false)) {
    config.alibi_slopes = alibi_slopes(config.n_heads, 8);
    for (float& slope : config.alibi_slopes) slope = kernels::bf16_to_f32(kernels::f32_to_bf16(slope));
    config.rounded_alibi_scale = 1 / std::sqrt(static_cast<double>(config.head_dim));
  } else {
    read_whole_rope(reader, config);
  }
}

}  // namespace

extern constexpr Architecture kFalcon{
    .name = "FalconForCausalLM",
    .model_type = "falcon",
    .tensors = kFalconTensors,
    .ignored_suffixes = {},
    .prefixes = kTransformerPrefixes,
    .read_config = read_falcon_config,
    .other_names = kFalconOtherNames,
};

}  // namespace lathe::engine
