// SPDX-License-Identifier: Apache-2.0
// Decodes the block types whose codes a weight format has directly: Q4_0, Q8_0 and MXFP4. Each function reads n_blocks
// blocks at `from` and writes 32 n_blocks elements. All other types are decoded through their codes (block_codes.h).
// Source: ggml, ggml-quants.c; results equal gguf-py's bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lathe::engine {

void decode_q4_0(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_q8_0(const std::byte* from, std::int64_t n_blocks, float* to);
void decode_mxfp4(const std::byte* from, std::int64_t n_blocks, float* to);

}  // namespace lathe::engine
