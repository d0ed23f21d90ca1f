// SPDX-License-Identifier: Apache-2.0
// The element types of GGUF files: what a number in the list of tensors means.
#pragma once

#include <cstdint>
#include <span>

#include "engine/load/checkpoint.h"

namespace lathe::engine {

/// Null for a number that the format does not give to a type.
const StoredType* find_gguf_type(std::uint32_t number);
/// Requires: a type of the table.
std::uint32_t number_of(const StoredType& type);

/// The type with the very codes and scales of a weight format; null if there is none.
const StoredType* find_gguf_type(kernels::WeightFormat format);
/// The weight formats that have one.
std::span<const kernels::WeightFormat> formats_of_gguf();

}  // namespace lathe::engine
