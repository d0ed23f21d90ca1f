// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: the n-th number of a seed, without any state in between. Source: Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3" (2011), Philox4x32-10.
#pragma once

#include <array>
#include <cstdint>

namespace lathe::engine {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// A number in [0, 1) with 53 random bits, the same for the same seed and index everywhere.
double uniform_at(std::uint64_t seed, std::uint64_t index);

}  // namespace lathe::engine
