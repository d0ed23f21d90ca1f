// SPDX-License-Identifier: Apache-2.0
// OPT. Positions are learned and begin at row 2 of their table. Source: Zhang et al. 2022; Hugging Face transformers,
// OPTConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kOptTensors = {
    TensorName{WeightRole::embedding, "embed_tokens.weight"},
    TensorName{WeightRole::positions, "embed_positions.weight"},
    TensorName{WeightRole::embedding_in, "project_in.weight"},
    TensorName{WeightRole::embedding_out, "project_out.weight"},
    TensorName{WeightRole::q, "layers.{}.self_attn.q_proj.weight"},
    TensorName{WeightRole::q_bias, "layers.{}.self_attn.q_proj.bias"},
    TensorName{WeightRole::k, "layers.{}.self_attn.k_proj.weight"},
    TensorName{WeightRole::k_bias, "layers.{}.self_attn.k_proj.bias"},
    TensorName{WeightRole::v, "layers.{}.self_attn.v_proj.weight"},
    TensorName{WeightRole::v_bias, "layers.{}.self_attn.v_proj.bias"},
    TensorName{WeightRole::o, "layers.{}.self_attn.out_proj.weight"},
    TensorName{WeightRole::o_bias, "layers.{}.self_attn.out_proj.bias"},
    TensorName{WeightRole::attention_norm, "layers.{}.self_attn_layer_norm.weight"},
    TensorName{WeightRole::attention_norm_bias, "layers.{}.self_attn_layer_norm.bias"},
    TensorName{WeightRole::up, "layers.{}.fc1.weight"},
    TensorName{WeightRole::up_bias, "layers.{}.fc1.bias"},
    TensorName{WeightRole::down, "layers.{}.fc2.weight"},
    TensorName{WeightRole::down_bias, "layers.{}.fc2.bias"},
    TensorName{WeightRole::mlp_norm, "layers.{}.final_layer_norm.weight"},
    TensorName{WeightRole::mlp_norm_bias, "layers.{}.final_layer_norm.bias"},
    TensorName{WeightRole::final_norm, "final_layer_norm.weight"},
    TensorName{WeightRole::final_norm_bias, "final_layer_norm.bias"},
    TensorName{WeightRole::head, "lm_head.weight"},
};

constexpr std::array kOptPrefixes = {NamePrefix{"model.decoder."}, NamePrefix{"decoder."}};

void read_opt_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.tied_embeddings = true}, {.inner = "ffn_dim", .kv_heads = ""});
  config.norm = {.kind = kernels::NormKind::layer, .eps = 1e-5, .has_bias = true};  // transformers reads no key for eps
  config.activation = read_activation(reader, "activation_function", "relu");
  config.is_gated = false;
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = reader.boolean_or("enable_bias", true);
  config.n_learned_positions = config.max_position_embeddings;
  config.position_offset = 2;
  config.embedding_size = reader.integer_or("word_embed_proj_dim", config.hidden_size, 1, kMaxWidth);
  const bool norms_before = reader.boolean_or("do_layer_norm_before", true);
  if (!norms_before) config.norm_place = NormPlace::on_stream;
  config.has_final_norm = norms_before && !reader.boolean_or("_remove_final_layer_norm", false);
  if (!reader.boolean_or("layer_norm_elementwise_affine", true))
    reader.unmet("norms without weights (layer_norm_elementwise_affine)");
}

}  // namespace

extern constexpr Architecture kOpt{
    .name = "OPTForCausalLM",
    .model_type = "opt",
    .tensors = kOptTensors,
    .ignored_suffixes = {},
    .prefixes = kOptPrefixes,
    .read_config = read_opt_config,
};

}  // namespace lathe::engine
