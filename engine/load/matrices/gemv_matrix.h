// SPDX-License-Identifier: Apache-2.0
// GemvMatrix: a matrix of 4-bit codes in the layout of AutoAWQ's kernels for few rows: 32-bit words along K, or (fast)
// 16-bit words that interleave four outputs and 64 inputs. In the fast layout a weight is code * scale + offset. Source:
// AutoAWQ, WQLinear_GEMV and WQLinear_GEMVFast.
#pragma once

#include <cstdint>

#include "engine/load/tensor_parts.h"

namespace lathe::engine {

/// The parts of one matrix [N, K]. G is the stored group count, padded beyond the groups of a row.
struct GemvMatrix {
  bool is_fast = false;
  std::int64_t group = -1;               ///< weights of a row that share a scale; -1: all weights of the row
  const StoredTensor* codes = nullptr;   ///< I32 [N, K / 8]; fast: I16 [N / 4, K]
  const StoredTensor* scales = nullptr;  ///< floating [N, G]; fast: [G, N]
  const StoredTensor* zeros = nullptr;   ///< I32 [N, G / 8]; fast: offsets, floating [G, N]
};

/// Errors: model_refused when shapes of the parts disagree.
Result<CodedTensor> coded_of(const GemvMatrix& matrix, const TensorParts& parts);

}  // namespace lathe::engine
