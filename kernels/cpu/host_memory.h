// SPDX-License-Identifier: Apache-2.0
// Allocates host memory for buffers: zeroed and aligned, large buffers on huge pages.
#pragma once

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// Owns: the result owns its bytes. Errors: an empty buffer when the machine has no memory left.
Buffer allocate_host(std::size_t n_bytes);
/// Size that reserve_host() allocates for n_bytes. Units: bytes.
std::size_t reserved_bytes(std::size_t n_bytes);
/// Grows the buffer to at least n_bytes; its contents are lost when it grows. Errors: false when the machine has no memory
/// left.
bool reserve_host(Buffer& buffer, std::size_t n_bytes);

}  // namespace lathe::kernels
