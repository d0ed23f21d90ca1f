// SPDX-License-Identifier: Apache-2.0
// ByteMatrix: a quantized matrix [N, K] of one byte per code, in row-major order, with a scale for each block of rows and
// columns.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "engine/load/tensor_parts.h"

namespace lathe::engine {

/// Size of the blocks whose elements share a scale.
struct ScaleBlock {
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();  ///< one block along all rows or columns

  std::int64_t rows = 1, columns = 1;
};

/// The parts of one matrix, filled by a quantization scheme.
struct ByteMatrix {
  CodeEncoding kind = CodeEncoding::e4m3;  ///< an encoding of 8 bits
  const StoredTensor* codes = nullptr;     ///< [N, K], one byte per code; integers are signed
  const StoredTensor* scales = nullptr;    ///< floating, [N / rows, K / columns], rounded up
  const StoredTensor* zeros = nullptr;     ///< I8, one for each scale; null: none
  ScaleBlock block{};
};

/// Errors: model_refused when the codes are no matrix, or when scales or zero points are not one per block.
Result<CodedTensor> coded_of(const ByteMatrix& matrix, const TensorParts& parts);

}  // namespace lathe::engine
