// SPDX-License-Identifier: Apache-2.0
// GemvMatrix: a matrix whose codes of 4 bits lie as AutoAWQ's kernels for few rows read them: words along K, or (fast) words
// of 16 bits for four outputs and 64 inputs in an order of their own. There a weight is code * scale + offset. Source:
// AutoAWQ, WQLinear_GEMV and WQLinear_GEMVFast.
#pragma once

#include <cstdint>

#include "engine/load/tensor_parts.h"

namespace lathe::engine {

/// What a scheme knows of one matrix [N, K]. Groups are rounded up to G, more than a row may have.
struct GemvMatrix {
  bool is_fast = false;
  std::int64_t group = -1;               ///< weights of a row that share a scale; -1: all
  const StoredTensor* codes = nullptr;   ///< I32 [N, K / 8]; fast: I16 [N / 4, K]
  const StoredTensor* scales = nullptr;  ///< floating [N, G]; fast: [G, N]
  const StoredTensor* zeros = nullptr;   ///< I32 [N, G / 8]; fast: offsets, floating [G, N]
};

/// Errors: model_refused: the parts do not fit each other.
Result<CodedTensor> coded_of(const GemvMatrix& matrix, const TensorParts& parts);

}  // namespace lathe::engine
