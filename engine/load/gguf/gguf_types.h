// SPDX-License-Identifier: Apache-2.0
// The table of GGUF element types, found by the type numbers of files.
#pragma once

#include <cstdint>
#include <span>

#include "engine/load/checkpoint.h"

namespace lathe::engine {

/// The type of this number; null: the format has none.
const StoredType* find_gguf_type(std::uint32_t number);
/// The number of a type. Requires: a type of the table.
std::uint32_t number_of(const StoredType& type);

/// The type with exactly the codes and scales of a weight format; null: none.
const StoredType* find_gguf_type(kernels::WeightFormat format);
/// Weight formats that have such a type.
std::span<const kernels::WeightFormat> formats_of_gguf();

}  // namespace lathe::engine
