// SPDX-License-Identifier: Apache-2.0
// The table of model families, and upper bounds for their sizes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/model/architecture.h"

namespace lathe::engine {

// Several times the sizes of the largest released model; small enough that no product of them overflows 63 bits.
inline constexpr std::int64_t kMaxVocab = 1 << 23;
inline constexpr std::int64_t kMaxWidth = 1 << 20;
inline constexpr std::int64_t kMaxLayers = 1 << 12;
inline constexpr std::int64_t kMaxHeads = 1 << 12;
inline constexpr std::int64_t kMaxHeadDim = 1 << 12;
inline constexpr std::int64_t kMaxPositions = 1 << 27;
inline constexpr std::int64_t kMaxTokenTypes = 1 << 10;
inline constexpr std::size_t kMaxEosIds = 256;

std::span<const Architecture* const> architectures();
/// Finds a family by its name or model_type; null if there is none.
const Architecture* find_architecture(std::string_view name);

}  // namespace lathe::engine
