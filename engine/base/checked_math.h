// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes that come from files: an overflow is reported instead of wrapping.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace lathe::engine {

/// The product of non-negative factors, or nothing when it exceeds 2^63 - 1.
inline std::optional<std::int64_t> checked_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  bool overflow = false;
  for (const std::int64_t factor : factors) {
    if (factor == 0) return 0;  // even if the others overflow
    overflow = __builtin_mul_overflow(product, factor, &product) || overflow;
  }
  if (overflow) return std::nullopt;
  return product;
}

}  // namespace lathe::engine
