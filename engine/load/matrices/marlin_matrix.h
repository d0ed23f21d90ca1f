// SPDX-License-Identifier: Apache-2.0
// MarlinMatrix: a matrix whose codes and scales have the layout of the Marlin GPU kernels: permuted tiles of 16 inputs and
// 64 outputs. In 2:4 sparse matrices, two of four weights are left out; tiles hold the other two, and metadata of 4 bits
// gives their indices. Source: AutoGPTQ, qlinear_marlin.py; compressed-tensors, marlin_24.py, permutations_24.py,
// semi_structured_conversions.py.
#pragma once

#include <cstdint>

#include "engine/load/tensor_parts.h"

namespace lathe::engine {

/// The parts of one matrix [N, K]. Every zero point is the middle of the code range.
struct MarlinMatrix {
  int bits = 4;                          ///< 4; 2:4 sparse: 4 or 8
  std::int64_t group = -1;               ///< weights of a row that share a scale; -1: all weights of the row
  const StoredTensor* codes = nullptr;   ///< I32 [K / 16, N bits / 2]; 2:4 sparse: half as many rows
  const StoredTensor* scales = nullptr;  ///< floating [groups, N]
  const StoredTensor* places = nullptr;  ///< 2:4 metadata, I16 [K / 32, N * 2]; null: dense
};

/// Errors: model_refused when shapes of the parts disagree, or the codes are no whole tiles.
Result<CodedTensor> coded_of(const MarlinMatrix& matrix, const TensorParts& parts);

}  // namespace lathe::engine
