// SPDX-License-Identifier: Apache-2.0
// Rows of codes in the blocks of GGUF files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/api/backend.h"

namespace lathe::engine {

/// Writes rows as Backend::pack_rows takes them in the blocks of find_gguf_type(format): n_numbers of them, which are whole
/// blocks. Requires: one of formats_of_gguf().
void write_gguf_blocks(kernels::WeightFormat format, std::span<const std::byte> rows, std::int64_t n_numbers, std::byte* to);

}  // namespace lathe::engine
