// SPDX-License-Identifier: Apache-2.0
// Writes rows of codes in the block layout of GGUF files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/api/backend.h"

namespace lathe::engine {

/// Converts rows in the layout of Backend::pack_rows to the blocks of find_gguf_type(format). `n_numbers`: elements, whole
/// blocks. Requires: one of formats_of_gguf().
void write_gguf_blocks(kernels::WeightFormat format, std::span<const std::byte> rows, std::int64_t n_numbers, std::byte* to);

}  // namespace lathe::engine
