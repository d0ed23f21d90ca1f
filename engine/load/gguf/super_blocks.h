// SPDX-License-Identifier: Apache-2.0
// Decoders of the blocks of 256 numbers whose parts have scales (and offsets) of their own, themselves in few bits: Q2_K,
// Q3_K, Q4_K, Q5_K, Q6_K and IQ4_XS. Each reads n_blocks at `from` and writes 256 n_blocks numbers.
// Source: ggml, ggml-quants.c; bit by bit what gguf-py gives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lathe::engine {

void decode_q2_k(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_q3_k(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_q4_k(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_q5_k(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_q6_k(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_iq4_xs(const std::byte* from, std::int64_t n_blocks, float* to);

}  // namespace lathe::engine
