// SPDX-License-Identifier: Apache-2.0
// BlockCodes: the blocks of GGUF files as codes and scales that a weight format has, so that they are packed as they are.
// Scales of the k-quants are products of a half and a whole number; so are their minimums. In f32 both are exact, and so the
// numbers are bit by bit what gguf-py gives. Source: ggml, ggml-quants.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/load/coded_tensor.h"

namespace lathe::engine {

struct StoredType;

struct BlockCodes {
  CodeEncoding kind;
  int group;        ///< numbers that share a scale
  bool are_halves;  ///< its scales are numbers of f16
  /// Of one block: codes of its numbers, a scale for each group, and a minimum where the kind has those.
  void (*read)(const std::byte* block, std::uint8_t* codes, float* scales, float* minimums);
};

extern const BlockCodes kQ4_1Codes, kQ5_0Codes, kQ5_1Codes, kIq4NlCodes;
extern const BlockCodes kQ2KCodes, kQ3KCodes, kQ4KCodes, kQ5KCodes, kQ6KCodes, kIq4XsCodes;

/// A matrix [n, k] of a type that has codes. Owns: nothing; the bytes belong to the checkpoint's mappings.
CodedTensor coded_of_blocks(const StoredType& type, std::span<const std::byte> bytes, std::int64_t n, std::int64_t k);

}  // namespace lathe::engine
