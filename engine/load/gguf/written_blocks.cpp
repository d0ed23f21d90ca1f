// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/written_blocks.h"

#include <algorithm>
#include <bit>

#include "engine/load/gguf/block_reading.h"
#include "engine/load/matrices/mx_matrix.h"

namespace lathe::engine {
namespace {

/// The inverse of power_of_e8m0(): a power of two consists of its exponent.
std::byte e8m0_of(float scale) { return static_cast<std::byte>(std::bit_cast<std::uint32_t>(scale) >> 23); }

/// Converts an f32 scale and one byte per code to an E8M0 scale and two codes per byte; low halves hold the first 16 codes.
void write_mxfp4(const std::byte* from, std::int64_t n_blocks, std::byte* to) {
  for (; n_blocks > 0; --n_blocks, from += sizeof(float) + kMxBlock, to += 1 + kMxBlockBytes) {
    const std::byte* const codes = from + sizeof(float);
    to[0] = e8m0_of(read_as<float>(from));
    for (std::int64_t i = 0; i < kMxBlockBytes; ++i) to[1 + i] = codes[i] | codes[i + kMxBlockBytes] << 4;
  }
}

}  // namespace

void write_gguf_blocks(kernels::WeightFormat format, std::span<const std::byte> rows, std::int64_t n_numbers,
                       std::byte* to) {
  if (format == kernels::WeightFormat::mxfp4) return write_mxfp4(rows.data(), n_numbers / kMxBlock, to);
  std::copy(rows.begin(), rows.end(), to);  // all other formats already have the layout of the file
}

}  // namespace lathe::engine
