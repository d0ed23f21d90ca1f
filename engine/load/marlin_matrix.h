// SPDX-License-Identifier: Apache-2.0
// MarlinMatrix: a matrix whose codes and scales lie as the Marlin kernels of GPUs read them: tiles of 16 inputs and 64
// outputs in an order of their own. Where of four weights two are left out (2:4), tiles hold the others, and 4 bits say
// which these are. Source: AutoGPTQ, qlinear_marlin.py; compressed-tensors, marlin_24.py, permutations_24.py,
// semi_structured_conversions.py.
#pragma once

#include <cstdint>

#include "engine/load/tensor_parts.h"

namespace lathe::engine {

/// What a scheme knows of one matrix [N, K]. Zero points are the middle.
struct MarlinMatrix {
  int bits = 4;                          ///< of 2:4 also 8
  std::int64_t group = -1;               ///< weights of a row that share a scale; -1: all
  const StoredTensor* codes = nullptr;   ///< I32 [K / 16, N bits / 2]; of 2:4, half as many rows
  const StoredTensor* scales = nullptr;  ///< floating [groups, N]
  const StoredTensor* places = nullptr;  ///< of 2:4 alone: I16 [K / 32, N * 2]
};

/// Errors: model_refused: the parts do not fit each other, or are no whole tiles.
Result<CodedTensor> coded_of(const MarlinMatrix& matrix, const TensorParts& parts);

}  // namespace lathe::engine
