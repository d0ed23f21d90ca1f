// SPDX-License-Identifier: Apache-2.0
// Decoders of the blocks of 32 numbers that share a scale (and an offset): Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL and
// MXFP4. Each reads n_blocks at `from` and writes 32 n_blocks numbers. Source: ggml, ggml-quants.c; bit by bit what gguf-py
// gives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lathe::engine {

void decode_q4_0(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_q4_1(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_q5_0(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_q5_1(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_q8_0(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_iq4_nl(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_mxfp4(const std::byte* from, std::int64_t n_blocks, float* to);

}  // namespace lathe::engine
