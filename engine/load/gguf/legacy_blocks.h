// SPDX-License-Identifier: Apache-2.0
// Decoders of the blocks of 32 numbers that weight formats have as they are: Q4_0, Q8_0 and MXFP4. Each reads n_blocks at
// `from` and writes 32 n_blocks numbers. Those of all other types come of their codes (block_codes.h).
// Source: ggml, ggml-quants.c; bit by bit what gguf-py gives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lathe::engine {

void decode_q4_0(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_q8_0(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_mxfp4(const std::byte* from, std::int64_t n_blocks, float* to);

}  // namespace lathe::engine
