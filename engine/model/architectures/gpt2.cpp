// SPDX-License-Identifier: Apache-2.0
// GPT-2. Its matrices are stored transposed. Source: Radford et al. 2019; Hugging Face transformers, GPT2Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kTransposed = TensorLayout::transposed;
constexpr std::array kGpt2Tensors = {
    TensorName{WeightRole::embedding, "wte.weight"},
    TensorName{WeightRole::positions, "wpe.weight"},
    TensorName{WeightRole::attention_norm, "h.{}.ln_1.weight"},
    TensorName{WeightRole::attention_norm_bias, "h.{}.ln_1.bias"},
    TensorName{WeightRole::qkv, "h.{}.attn.c_attn.weight", kTransposed},
    TensorName{WeightRole::qkv_bias, "h.{}.attn.c_attn.bias"},
    TensorName{WeightRole::o, "h.{}.attn.c_proj.weight", kTransposed},
    TensorName{WeightRole::o_bias, "h.{}.attn.c_proj.bias"},
    TensorName{WeightRole::mlp_norm, "h.{}.ln_2.weight"},
    TensorName{WeightRole::mlp_norm_bias, "h.{}.ln_2.bias"},
    TensorName{WeightRole::up, "h.{}.mlp.c_fc.weight", kTransposed},
    TensorName{WeightRole::up_bias, "h.{}.mlp.c_fc.bias"},
    TensorName{WeightRole::down, "h.{}.mlp.c_proj.weight", kTransposed},
    TensorName{WeightRole::down_bias, "h.{}.mlp.c_proj.bias"},
    TensorName{WeightRole::final_norm, "ln_f.weight"},
    TensorName{WeightRole::final_norm_bias, "ln_f.bias"},
    TensorName{WeightRole::head, "lm_head.weight"},
};

// Masks that older versions of transformers saved.
constexpr std::array<std::string_view, 2> kGpt2Ignored = {".attn.bias", ".attn.masked_bias"};

void read_gpt2_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(
      reader, config, {.n_positions = 1024, .tied_embeddings = true},
      {.hidden = "n_embd", .inner = "", .layers = "n_layer", .heads = "n_head", .kv_heads = "", .positions = "n_positions"});
  config.intermediate_size = reader.integer_or("n_inner", 4 * config.hidden_size, 1, kMaxWidth);
  read_layer_norm(reader, config, "layer_norm_epsilon", 1e-5);
  config.activation = read_activation(reader, "activation_function", "gelu_new");
  config.is_gated = false;
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = true;
  config.n_learned_positions = config.max_position_embeddings;
  if (!reader.boolean_or("scale_attn_weights", true)) config.attention_scale = 1;
  if (reader.boolean_or("scale_attn_by_inverse_layer_idx", false)) {
    config.layers.assign(static_cast<std::size_t>(config.n_layers), {.rope = -1});
    for (std::size_t i = 0; i < config.layers.size(); ++i) config.layers[i].score_factor = 1 / static_cast<double>(i + 1);
  }
}

}  // namespace

extern constexpr Architecture kGpt2{
    .name = "GPT2LMHeadModel",
    .model_type = "gpt2",
    .tensors = kGpt2Tensors,
    .ignored_suffixes = kGpt2Ignored,
    .prefixes = kTransformerPrefixes,
    .read_config = read_gpt2_config,
};

}  // namespace lathe::engine
