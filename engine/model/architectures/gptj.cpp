// SPDX-License-Identifier: Apache-2.0
// GPT-J. Source: Wang and Komatsuzaki 2021; Hugging Face transformers, GPTJConfig.
#include <fmt/format.h>

#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kGptJTensors = {
    TensorName{WeightRole::embedding, "wte.weight"},
    TensorName{WeightRole::q, "h.{}.attn.q_proj.weight"},
    TensorName{WeightRole::k, "h.{}.attn.k_proj.weight"},
    TensorName{WeightRole::v, "h.{}.attn.v_proj.weight"},
    TensorName{WeightRole::o, "h.{}.attn.out_proj.weight"},
    TensorName{WeightRole::attention_norm, "h.{}.ln_1.weight"},
    TensorName{WeightRole::attention_norm_bias, "h.{}.ln_1.bias"},
    TensorName{WeightRole::up, "h.{}.mlp.fc_in.weight"},
    TensorName{WeightRole::up_bias, "h.{}.mlp.fc_in.bias"},
    TensorName{WeightRole::down, "h.{}.mlp.fc_out.weight"},
    TensorName{WeightRole::down_bias, "h.{}.mlp.fc_out.bias"},
    TensorName{WeightRole::final_norm, "ln_f.weight"},
    TensorName{WeightRole::final_norm_bias, "ln_f.bias"},
    TensorName{WeightRole::head, "lm_head.weight"},
    TensorName{WeightRole::head_bias, "lm_head.bias"},
};

// Masks that older versions of transformers saved.
constexpr std::array<std::string_view, 2> kGptJIgnored = {".attn.bias", ".attn.masked_bias"};

void read_gptj_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(
      reader, config, {},
      {.hidden = "n_embd", .inner = "", .layers = "n_layer", .heads = "n_head", .kv_heads = "", .positions = "n_positions"});
  config.intermediate_size = reader.integer_or("n_inner", 4 * config.hidden_size, 1, kMaxWidth);
  read_layer_norm(reader, config, "layer_norm_epsilon", 1e-5);
  config.activation = read_activation(reader, "activation_function", "gelu_new");
  config.is_gated = false;
  config.mlp_bias = config.head_bias = true;
  config.residual = Residual::parallel;
  const RopeDefaults defaults{.rotary_dim = reader.integer_or("rotary_dim", 64, 2, config.head_dim),
                              .style = kernels::RopeStyle::interleaved};
  if (defaults.rotary_dim % 2 != 0) {
    reader.fault("rotary_dim", fmt::format("got {}, expected an even number", defaults.rotary_dim));
  }
  config.ropes = {read_rope(reader, defaults, config.max_position_embeddings)};
}

}  // namespace

extern constexpr Architecture kGptJ{
    .name = "GPTJForCausalLM",
    .model_type = "gptj",
    .tensors = kGptJTensors,
    .ignored_suffixes = kGptJIgnored,
    .prefixes = kTransformerPrefixes,
    .read_config = read_gptj_config,
};

}  // namespace lathe::engine
