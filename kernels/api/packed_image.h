// SPDX-License-Identifier: Apache-2.0
// The bytes of packed matrices, for whoever keeps them on disk.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// All that pack_rows writes, as it lies in memory. Empty: this backend keeps its matrices in another way.
std::span<std::byte> image_of(PackedMatrix& matrix);

/// Names the way from weights to those bytes. All instruction sets have the same. It changes whenever a layout, a code or a
/// scale does: what is on disk under another name is of no use.
std::string_view image_layout();

}  // namespace lathe::kernels
