// SPDX-License-Identifier: Apache-2.0
// Parts that LFM2 and LFM2-MoE share: short convolutions in most layers, attention with normalised heads in the others.
#pragma once

#include "engine/model/standard_config.h"

namespace lathe::engine {

inline constexpr std::array kLfm2Tensors = {
    TensorName{WeightRole::embedding, "embed_tokens.weight"},
    TensorName{WeightRole::final_norm, "embedding_norm.weight"},
    TensorName{WeightRole::head, "lm_head.weight"},
    TensorName{WeightRole::attention_norm, "layers.{}.operator_norm.weight"},
    TensorName{WeightRole::mlp_norm, "layers.{}.ffn_norm.weight"},
    TensorName{WeightRole::q, "layers.{}.self_attn.q_proj.weight"},
    TensorName{WeightRole::k, "layers.{}.self_attn.k_proj.weight"},
    TensorName{WeightRole::v, "layers.{}.self_attn.v_proj.weight"},
    TensorName{WeightRole::o, "layers.{}.self_attn.out_proj.weight"},
    TensorName{WeightRole::q_norm, "layers.{}.self_attn.q_layernorm.weight"},
    TensorName{WeightRole::k_norm, "layers.{}.self_attn.k_layernorm.weight"},
    TensorName{WeightRole::short_conv_in, "layers.{}.conv.in_proj.weight"},
    TensorName{WeightRole::short_conv_in_bias, "layers.{}.conv.in_proj.bias"},
    TensorName{WeightRole::short_conv, "layers.{}.conv.conv.weight"},
    TensorName{WeightRole::short_conv_bias, "layers.{}.conv.conv.bias"},
    TensorName{WeightRole::short_conv_out, "layers.{}.conv.out_proj.weight"},
    TensorName{WeightRole::short_conv_out_bias, "layers.{}.conv.out_proj.bias"},
    TensorName{WeightRole::gate, "layers.{}.feed_forward.w1.weight"},
    TensorName{WeightRole::up, "layers.{}.feed_forward.w3.weight"},
    TensorName{WeightRole::down, "layers.{}.feed_forward.w2.weight"},
};

/// Reads everything but the size of the MLP and the experts. Requires: read_sizes() has been called.
void read_lfm2_parts(ConfigReader& reader, ModelConfig& config);

}  // namespace lathe::engine
