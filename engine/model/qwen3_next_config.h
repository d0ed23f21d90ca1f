// SPDX-License-Identifier: Apache-2.0
// Parts that Qwen3-Next, Qwen3.5 and their successors share: gated delta net in most layers, and attention with an output
// gate in the others.
#pragma once

#include "engine/model/standard_config.h"

namespace lathe::engine {

/// Names of the tensors of gated delta net, but for those of its inputs, which each family has in an order of its own.
inline constexpr std::array kDeltaNetTensors = {
    TensorName{WeightRole::delta_conv, "layers.{}.linear_attn.conv1d.weight"},
    TensorName{WeightRole::delta_a_log, "layers.{}.linear_attn.A_log"},
    TensorName{WeightRole::delta_dt_bias, "layers.{}.linear_attn.dt_bias"},
    TensorName{WeightRole::delta_norm, "layers.{}.linear_attn.norm.weight"},
    TensorName{WeightRole::delta_out, "layers.{}.linear_attn.out_proj.weight"},
};

/// Names of Q, K and V, and of the gate, where they are apart: in Qwen3.5, and in all GGUF files.
inline constexpr std::array kDeltaNetQkv = {
    TensorName{WeightRole::delta_qkv, "layers.{}.linear_attn.in_proj_qkv.weight"},
    TensorName{WeightRole::delta_z, "layers.{}.linear_attn.in_proj_z.weight"},
};
/// Names of the rates in Qwen3.5.
inline constexpr std::array kDeltaNetRates = {
    TensorName{WeightRole::delta_b, "layers.{}.linear_attn.in_proj_b.weight"},
    TensorName{WeightRole::delta_a, "layers.{}.linear_attn.in_proj_a.weight"},
};

/// Reads all but the sizes and the experts. Requires: read_sizes() has been called.
void read_qwen3_next_parts(ConfigReader& reader, ModelConfig& config);

/// Reads the routed experts and the shared one. `n_experts`, `top_k`: defaults of the class.
void read_qwen3_next_experts(ConfigReader& reader, ModelConfig& config, std::int64_t n_experts, std::int64_t top_k);

}  // namespace lathe::engine
