// SPDX-License-Identifier: Apache-2.0
// BlockCodes: reads the blocks of a GGUF type as codes and scales that a weight format has, so that they are packed without
// rounding. Scales and minimums of the k-quants are products of an f16 and an integer. Both products are exact in f32, so
// decoded elements equal those of gguf-py bit by bit. Source: ggml, ggml-quants.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/load/coded_tensor.h"

namespace lathe::engine {

struct StoredType;

struct BlockCodes {
  CodeEncoding kind;
  int group;        ///< elements that share a scale
  bool are_halves;  ///< scales are f16 values
  /// Reads one block: the code of each element, a scale for each group, and a minimum for each group if the encoding has
  /// minimums.
  void (*read)(const std::byte* block, std::uint8_t* codes, float* scales, float* minimums);
};

extern const BlockCodes kQ4_1Codes, kQ5_0Codes, kQ5_1Codes, kIq4NlCodes;
extern const BlockCodes kQ2KCodes, kQ3KCodes, kQ4KCodes, kQ5KCodes, kQ6KCodes, kIq4XsCodes;

/// Makes a coded tensor of a matrix [n, k] whose type has codes. Owns: nothing; the bytes belong to the checkpoint's
/// mappings.
CodedTensor coded_of_blocks(const StoredType& type, std::span<const std::byte> bytes, std::int64_t n, std::int64_t k);

}  // namespace lathe::engine
