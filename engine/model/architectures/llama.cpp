// SPDX-License-Identifier: Apache-2.0
// Llama 1, 2 and 3.x, TinyLlama, SmolLM, Yi, CodeLlama. Source: Touvron et al. 2023; Hugging Face transformers, LlamaConfig.
#include <array>

#include "engine/model/architectures.h"
#include "engine/model/config_reader.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

extern const Architecture kLlama;

namespace {

using kernels::Dtype;

constexpr std::array kDtypes = {Dtype::f32, Dtype::f16, Dtype::bf16};

constexpr std::array kTensors = {
    TensorName{WeightRole::embedding, "model.embed_tokens.weight"},
    TensorName{WeightRole::attention_norm, "model.layers.{}.input_layernorm.weight"},
    TensorName{WeightRole::q, "model.layers.{}.self_attn.q_proj.weight"},
    TensorName{WeightRole::k, "model.layers.{}.self_attn.k_proj.weight"},
    TensorName{WeightRole::v, "model.layers.{}.self_attn.v_proj.weight"},
    TensorName{WeightRole::o, "model.layers.{}.self_attn.o_proj.weight"},
    TensorName{WeightRole::q_bias, "model.layers.{}.self_attn.q_proj.bias"},
    TensorName{WeightRole::k_bias, "model.layers.{}.self_attn.k_proj.bias"},
    TensorName{WeightRole::v_bias, "model.layers.{}.self_attn.v_proj.bias"},
    TensorName{WeightRole::o_bias, "model.layers.{}.self_attn.o_proj.bias"},
    TensorName{WeightRole::mlp_norm, "model.layers.{}.post_attention_layernorm.weight"},
    TensorName{WeightRole::gate, "model.layers.{}.mlp.gate_proj.weight"},
    TensorName{WeightRole::up, "model.layers.{}.mlp.up_proj.weight"},
    TensorName{WeightRole::down, "model.layers.{}.mlp.down_proj.weight"},
    TensorName{WeightRole::gate_bias, "model.layers.{}.mlp.gate_proj.bias"},
    TensorName{WeightRole::up_bias, "model.layers.{}.mlp.up_proj.bias"},
    TensorName{WeightRole::down_bias, "model.layers.{}.mlp.down_proj.bias"},
    TensorName{WeightRole::final_norm, "model.norm.weight"},
    TensorName{WeightRole::head, "lm_head.weight"},
};

// Angles that older versions of transformers saved; they follow from the config.
constexpr std::array<std::string_view, 1> kIgnored = {".rotary_emb.inv_freq"};

void read_config(ConfigReader& reader, ModelConfig& config) {
  config.vocab_size = reader.integer("vocab_size", 1, kMaxVocab);
  config.hidden_size = reader.integer("hidden_size", 1, kMaxWidth);
  config.intermediate_size = reader.integer("intermediate_size", 1, kMaxWidth);
  config.n_layers = reader.integer("num_hidden_layers", 1, kMaxLayers);
  config.n_heads = reader.integer("num_attention_heads", 1, kMaxHeads);
  config.n_kv_heads = reader.integer_or("num_key_value_heads", config.n_heads, 1, config.n_heads);
  config.max_position_embeddings = reader.integer_or("max_position_embeddings", 2048, 1, kMaxPositions);
  config.rms_norm_eps = reader.number_or("rms_norm_eps", 1e-6, 0, 1);
  config.tied_embeddings = reader.boolean_or("tie_word_embeddings", false);
  config.attention_bias = reader.boolean_or("attention_bias", false);
  config.mlp_bias = reader.boolean_or("mlp_bias", false);
  config.rope = read_rope(reader, config.max_position_embeddings);
  if (!reader.has("head_dim") && config.hidden_size % config.n_heads != 0) {
    reader.fault("hidden_size", "expected a multiple of num_attention_heads, because head_dim is not given");
  }
  const std::int64_t usual_head_dim = std::max<std::int64_t>(config.hidden_size / config.n_heads, 1);
  config.head_dim = reader.integer_or("head_dim", usual_head_dim, 1, kMaxHeadDim);
  const std::string activation = reader.text_or("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") {
    reader.unmet("activation '" + activation.substr(0, 32) + "' (hidden_act; known: silu)");
  }
}

}  // namespace

constexpr Architecture kLlama{
    .name = "LlamaForCausalLM",
    .model_type = "llama",
    .weight_dtypes = kDtypes,
    .tensors = kTensors,
    .ignored_suffixes = kIgnored,
    .read_config = read_config,
};

}  // namespace lathe::engine
