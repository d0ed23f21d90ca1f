// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lathe::kernels {

/// a / b, rounded up. Requires: a >= 0, b > 0.
inline constexpr std::int64_t div_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace lathe::kernels
