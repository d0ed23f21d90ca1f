// SPDX-License-Identifier: Apache-2.0
// Sums over the buffers that a cache has for the layers of a model. A layer without a buffer counts as 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/api/backend.h"

namespace lathe::engine {

/// Units: bytes.
std::int64_t bytes_of(std::span<const kernels::Buffer> layers);
/// Units: bytes of pages that are resident; nullopt if the system does not report them.
std::optional<std::int64_t> resident_bytes_of(std::span<const kernels::Buffer> layers);

}  // namespace lathe::engine
