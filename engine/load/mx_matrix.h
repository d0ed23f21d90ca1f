// SPDX-License-Identifier: Apache-2.0
// MxMatrix: a matrix in MXFP4: codes of 4 bits (e2m1) with a power of two for each 32 of a row. File formats differ in where
// they lie. Source: OCP Microscaling Formats (MX) Specification 1.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/load/coded_tensor.h"

namespace lathe::engine {

inline constexpr std::int64_t kMxBlock = 32, kMxBlockBytes = kMxBlock / 2;

struct MxMatrix {
  std::int64_t n = 0, k = 0;                 ///< k is a multiple of 32
  std::span<const std::byte> codes, scales;  ///< of the first block; each goes on behind its stride
  std::int64_t code_stride = kMxBlockBytes;  ///< from block to block, in bytes
  std::int64_t scale_stride = 1;
  bool halves_apart = false;  ///< low halves of bytes hold the first 16 codes of a block; else codes follow each other
};

/// Owns: nothing; the bytes belong to the checkpoint's mappings.
CodedTensor coded_of(const MxMatrix& matrix);

/// The power of two that a byte of E8M0 stands for; of the one that stands for no number, infinity as transformers has it.
float power_of_e8m0(std::byte scale);

}  // namespace lathe::engine
