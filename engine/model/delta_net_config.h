// SPDX-License-Identifier: Apache-2.0
// DeltaNetConfig: sizes of gated delta net, a recurrent layer in place of attention. Source: Yang et al. 2024, Gated Delta
// Networks; Qwen3-Next.
#pragma once

#include <cstdint>

#include "kernels/api/recurrent.h"

namespace lathe::engine {

class ConfigReader;
struct ModelConfig;

struct DeltaNetConfig {
  std::int64_t n_key_heads = 0;  ///< heads of Q and of K; 0: no layer is a gated delta net
  std::int64_t n_heads = 0;      ///< heads of V and of the output, a multiple of n_key_heads
  std::int64_t key_dim = 0, value_dim = 0;
  std::int64_t conv_kernel = 0;  ///< taps of the convolution over Q, K and V
  /// Heads of V are in the order of GGUF files: the first of every key head, then the second (kernels::DeltaForm).
  bool is_tiled = false;

  bool operator==(const DeltaNetConfig&) const = default;
  bool exists() const { return n_key_heads > 0; }
  std::int64_t k_size() const { return n_key_heads * key_dim; }
  std::int64_t v_size() const { return n_heads * value_dim; }
  /// Width of Q, K and V together: the channels of the convolution.
  std::int64_t qkv_size() const { return 2 * k_size() + v_size(); }
  kernels::StateShape state() const {
    return {.conv_channels = qkv_size(),
            .conv_kernel = conv_kernel,
            .n_heads = n_heads,
            .key_dim = key_dim,
            .value_dim = value_dim};
  }
};

/// Reads Qwen's sizes of gated delta net (linear_num_key_heads, ...), and which layers it replaces attention in: those that
/// layer_types calls linear_attention, else all but every full_attention_interval-th. Requires: n_layers is set.
void read_delta_net(ConfigReader& reader, ModelConfig& config);

}  // namespace lathe::engine
