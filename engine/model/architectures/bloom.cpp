// SPDX-License-Identifier: Apache-2.0
// Bloom: ALiBi, and a norm after the embeddings. Source: BigScience 2022; Hugging Face transformers, BloomConfig.
#include "engine/model/alibi.h"
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kBloomTensors = {
    TensorName{WeightRole::embedding, "word_embeddings.weight"},
    TensorName{WeightRole::embedding_norm, "word_embeddings_layernorm.weight"},
    TensorName{WeightRole::embedding_norm_bias, "word_embeddings_layernorm.bias"},
    TensorName{WeightRole::attention_norm, "h.{}.input_layernorm.weight"},
    TensorName{WeightRole::attention_norm_bias, "h.{}.input_layernorm.bias"},
    TensorName{WeightRole::qkv, "h.{}.self_attention.query_key_value.weight", TensorLayout::kv_groups},
    TensorName{WeightRole::qkv_bias, "h.{}.self_attention.query_key_value.bias", TensorLayout::kv_groups},
    TensorName{WeightRole::o, "h.{}.self_attention.dense.weight"},
    TensorName{WeightRole::o_bias, "h.{}.self_attention.dense.bias"},
    TensorName{WeightRole::mlp_norm, "h.{}.post_attention_layernorm.weight"},
    TensorName{WeightRole::mlp_norm_bias, "h.{}.post_attention_layernorm.bias"},
    TensorName{WeightRole::up, "h.{}.mlp.dense_h_to_4h.weight"},
    TensorName{WeightRole::up_bias, "h.{}.mlp.dense_h_to_4h.bias"},
    TensorName{WeightRole::down, "h.{}.mlp.dense_4h_to_h.weight"},
    TensorName{WeightRole::down_bias, "h.{}.mlp.dense_4h_to_h.bias"},
    TensorName{WeightRole::final_norm, "ln_f.weight"},
    TensorName{WeightRole::final_norm_bias, "ln_f.bias"},
    TensorName{WeightRole::head, "lm_head.weight"},
};

void read_bloom_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.tied_embeddings = true},
             {.hidden = reader.has("n_embed") ? "n_embed" : "hidden_size",
              .inner = "",
              .layers = "n_layer",
              .heads = "n_head",
              .kv_heads = "",
              .positions = "seq_length"});
  config.intermediate_size = 4 * config.hidden_size;
  read_layer_norm(reader, config, "layer_norm_epsilon", 1e-5);
  config.activation = kernels::Activation::gelu_tanh;
  config.is_gated = false;
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = true;
  config.has_embedding_norm = true;
  config.alibi_slopes = alibi_slopes(config.n_heads, 8);
  if (reader.boolean_or("apply_residual_connection_post_layernorm", false)) {
    reader.unmet("a residual stream after the norms (apply_residual_connection_post_layernorm)");
  }
}

}  // namespace

extern constexpr Architecture kBloom{
    .name = "BloomForCausalLM",
    .model_type = "bloom",
    .tensors = kBloomTensors,
    .ignored_suffixes = {},
    .prefixes = kTransformerPrefixes,
    .read_config = read_bloom_config,
};

}  // namespace lathe::engine
