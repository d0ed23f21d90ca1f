// SPDX-License-Identifier: Apache-2.0
// Host memory for buffers: zeroed, aligned, large ones on huge pages.
#pragma once

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// Owns: the result owns its bytes. Errors: an empty buffer when the machine has no memory left.
Buffer allocate_host(std::size_t n_bytes);
/// Units: bytes that reserve_host takes for n_bytes.
std::size_t reserved_bytes(std::size_t n_bytes);
/// Makes the buffer at least as large; what it held is lost then. False when the machine has no memory left.
bool reserve_host(Buffer& buffer, std::size_t n_bytes);

}  // namespace lathe::kernels
