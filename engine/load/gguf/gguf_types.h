// SPDX-License-Identifier: Apache-2.0
// The element types of GGUF files: what a number in the list of tensors means.
#pragma once

#include <cstdint>

#include "engine/load/checkpoint.h"

namespace lathe::engine {

/// Null for a number that the format does not give to a type.
const StoredType* find_gguf_type(std::uint32_t number);

}  // namespace lathe::engine
