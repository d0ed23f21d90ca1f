// SPDX-License-Identifier: Apache-2.0
// Numbers of a result as people read them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace lathe::app {

/// So many digits that say something, and never an exponent for what is merely large: "0.0123", "530", "7164928".
inline std::string number_text(double value, int digits) {
  return std::abs(value) >= std::pow(10.0, digits) ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, digits);
}

}  // namespace lathe::app
