// SPDX-License-Identifier: Apache-2.0
// MPT: ALiBi. Source: MosaicML 2023; Hugging Face transformers, MptConfig.
#include "engine/model/alibi.h"
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kMptTensors = {
    TensorName{WeightRole::embedding, "wte.weight"},
    TensorName{WeightRole::attention_norm, "blocks.{}.norm_1.weight"},
    TensorName{WeightRole::qkv, "blocks.{}.attn.Wqkv.weight"},
    TensorName{WeightRole::o, "blocks.{}.attn.out_proj.weight"},
    TensorName{WeightRole::mlp_norm, "blocks.{}.norm_2.weight"},
    TensorName{WeightRole::up, "blocks.{}.ffn.up_proj.weight"},
    TensorName{WeightRole::down, "blocks.{}.ffn.down_proj.weight"},
    TensorName{WeightRole::final_norm, "norm_f.weight"},
    TensorName{WeightRole::head, "lm_head.weight"},
};

void read_mpt_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.tied_embeddings = true},
             {.hidden = "d_model",
              .inner = "",
              .layers = "n_layers",
              .heads = "n_heads",
              .kv_heads = "",
              .positions = "max_seq_len"});
  config.intermediate_size = 4 * config.hidden_size;  // expansion_ratio is ignored, as in transformers
  read_layer_norm(reader, config, "layer_norm_epsilon", 1e-5, false);
  config.activation = kernels::Activation::gelu;
  config.is_gated = false;
  config.clip_qkv = reader.number_or("attn_config.clip_qkv", 0, 0, 1e6);
  config.attention_scale = reader.number_or("attn_config.softmax_scale", 0, 0, 1e6);
  // alibi_bias_max is applied, as in training; transformers always takes 8.
  config.alibi_slopes = alibi_slopes(config.n_heads, reader.number_or("attn_config.alibi_bias_max", 8, 1e-3, 1e3));
  if (!reader.boolean_or("attn_config.alibi", true)) reader.unmet("learned positions (attn_config.alibi)");
  if (reader.boolean_or("attn_config.qk_ln", false)) reader.unmet("normalised Q and K (attn_config.qk_ln)");
  if (!reader.boolean_or("no_bias", true)) reader.unmet("biases (no_bias)");
}

}  // namespace

extern constexpr Architecture kMpt{
    .name = "MptForCausalLM",
    .model_type = "mpt",
    .tensors = kMptTensors,
    .ignored_suffixes = {},
    .prefixes = kTransformerPrefixes,
    .read_config = read_mpt_config,
};

}  // namespace lathe::engine
