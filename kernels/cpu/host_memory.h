// SPDX-License-Identifier: Apache-2.0
// Host memory for buffers: zeroed, aligned, large ones on huge pages.
#pragma once

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// Owns: the result owns its bytes. Errors: an empty buffer when the machine has no memory left.
Buffer allocate_host(std::size_t n_bytes);

}  // namespace lathe::kernels
