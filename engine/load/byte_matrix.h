// SPDX-License-Identifier: Apache-2.0
// ByteMatrix: a matrix whose codes are bytes in their place, [N, K], with scales for blocks of rows and columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/load/tensor_parts.h"

namespace lathe::engine {

/// Rows and columns that share a scale.
struct ScaleBlock {
  std::int64_t rows = 1, columns = 1;
};

/// What a scheme knows of one matrix.
struct ByteMatrix {
  CodeEncoding kind = CodeEncoding::e4m3;  ///< one of 8 bits
  const StoredTensor* codes = nullptr;     ///< [N, K] of one byte each; whole numbers are signed
  const StoredTensor* scales = nullptr;    ///< floating, [N / rows, K / columns], rounded up
  const StoredTensor* zeros = nullptr;     ///< as many I8, or none
  ScaleBlock block{};
};

/// Errors: model_refused: codes are no matrix, or there are not as many scales or zero points as blocks.
Result<CodedTensor> coded_of(const ByteMatrix& matrix, const TensorParts& parts);

}  // namespace lathe::engine
