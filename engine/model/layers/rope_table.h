// SPDX-License-Identifier: Apache-2.0
// RopeTable: cosines and sines of all positions: cos(p * frequency_i), sin(p * frequency_i), times the attention factor. If
// sequences choose among contexts (rope_contexts()), the table holds one part for each choice, one after the other: position
// p of a sequence with choice c is row p + contexts[0] + ... + contexts[c - 1].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/layers/device_tensor.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// Owns: cos and sin, [sum of contexts, rotary_dim / 2] f32 each, rounded once from double; where queries grow with the
/// position, a second pair for Q, [sum of contexts, (rotary_dim + grown_dim) / 2].
class RopeTable {
 public:
  /// Errors: resource_exhausted.
  static Result<RopeTable> create(kernels::Backend& backend, const RopeConfig& rope, std::span<const std::int64_t> contexts);
  /// Units: bytes that create() takes.
  static std::int64_t n_bytes(const RopeConfig& rope, std::span<const std::int64_t> contexts);

  /// How to rotate K and Q.
  kernels::RopeForm keys() const { return {.cos = cos_.view(), .sin = sin_.view(), .style = style_}; }
  kernels::RopeForm queries() const;

  const kernels::TensorView& cos() const { return cos_.view(); }
  const kernels::TensorView& sin() const { return sin_.view(); }
  std::int64_t n_bytes() const { return cos_.n_bytes() + sin_.n_bytes() + query_cos_.n_bytes() + query_sin_.n_bytes(); }

 private:
  kernels::RopeStyle style_ = kernels::RopeStyle::half;
  DeviceTensor cos_, sin_;
  DeviceTensor query_cos_, query_sin_;  ///< empty: Q uses those of K
};

/// One table for each of ModelConfig::ropes, all with the same contexts.
class RopeTables {
 public:
  /// n_positions: the longest context. Errors: resource_exhausted.
  static Result<RopeTables> create(kernels::Backend& backend, const ModelConfig& config, std::int64_t n_positions);
  /// Units: bytes that create() takes.
  static std::int64_t n_bytes(const ModelConfig& config, std::int64_t n_positions);

  /// Null if the layer has no RoPE.
  const RopeTable* of(const LayerConfig& layer) const {
    return layer.rope >= 0 ? &tables_[static_cast<std::size_t>(layer.rope)] : nullptr;
  }
  /// The context lengths among which sequences choose.
  const std::vector<std::int64_t>& contexts() const { return contexts_; }
  std::int64_t n_bytes() const;

 private:
  std::vector<std::int64_t> contexts_;
  std::vector<RopeTable> tables_;
};

}  // namespace lathe::engine
