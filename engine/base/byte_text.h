// SPDX-License-Identifier: Apache-2.0
// Numbers of bytes in texts for people.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace lathe::engine {

/// "1.50 GiB".
inline std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1LL << 30));
}

}  // namespace lathe::engine
