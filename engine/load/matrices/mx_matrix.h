// SPDX-License-Identifier: Apache-2.0
// MxMatrix: a matrix in MXFP4: 4-bit codes (e2m1) with a power-of-two scale for each 32 elements of a row. File formats
// differ in the layout of codes and scales. Source: OCP Microscaling Formats (MX) Specification 1.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/load/coded_tensor.h"

namespace lathe::engine {

inline constexpr std::int64_t kMxBlock = 32, kMxBlockBytes = kMxBlock / 2;

struct MxMatrix {
  std::int64_t n = 0, k = 0;                 ///< k is a multiple of 32
  std::span<const std::byte> codes, scales;  ///< begin at the first block; later blocks follow at the strides
  std::int64_t code_stride = kMxBlockBytes;  ///< bytes from block to block
  std::int64_t scale_stride = 1;
  bool halves_apart = false;  ///< low halves of bytes hold the first 16 codes of a block; else codes are consecutive
};

/// Owns: nothing; the bytes belong to the checkpoint's mappings.
CodedTensor coded_of(const MxMatrix& matrix);

/// The power of two of an E8M0 byte; infinity for NaN (255), as in transformers.
float power_of_e8m0(std::byte scale);

}  // namespace lathe::engine
