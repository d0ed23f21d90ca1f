// SPDX-License-Identifier: Apache-2.0
// Packed image: the bytes of a packed matrix, for callers that store them on disk.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// All bytes that pack_rows writes, in memory order. Empty: matrices of this backend have no image.
std::span<std::byte> image_of(PackedMatrix& matrix);

/// Name of the mapping from weights to the bytes of an image, the same for all instruction sets. It changes whenever a
/// layout, a code or a scale does: images stored under another name are invalid.
std::string_view image_layout();

}  // namespace lathe::kernels
