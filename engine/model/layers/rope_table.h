// SPDX-License-Identifier: Apache-2.0
// RopeTable: cosines and sines of all positions. angle(p, i) = p * inv_freq_i, inv_freq_i = theta^(-2i / head_dim), scaled.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/layers/device_tensor.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// head_dim / 2 frequencies with the scaling applied. Source: Hugging Face transformers, modeling_rope_utils.
std::vector<double> rope_frequencies(const RopeConfig& rope, std::int64_t head_dim);

/// Owns: cos and sin, [n_positions, head_dim / 2] f32 each, rounded once from double.
class RopeTable {
 public:
  /// Errors: resource_exhausted.
  static Result<RopeTable> create(kernels::Backend& backend, const ModelConfig& config, std::int64_t n_positions);
  /// Units: bytes that create() takes.
  static std::int64_t n_bytes(const ModelConfig& config, std::int64_t n_positions);

  const kernels::TensorView& cos() const { return cos_.view(); }
  const kernels::TensorView& sin() const { return sin_.view(); }
  std::int64_t n_bytes() const { return cos_.n_bytes() + sin_.n_bytes(); }

 private:
  DeviceTensor cos_, sin_;
};

}  // namespace lathe::engine
