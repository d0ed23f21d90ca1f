// SPDX-License-Identifier: Apache-2.0
// Formats numeric results for people.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace lathe::app {

/// Writes `digits` significant digits; values of more digits before the point are written in full, without an exponent:
/// "0.0123", "530", "7164928".
inline std::string number_text(double value, int digits) {
  return std::abs(value) >= std::pow(10.0, digits) ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, digits);
}

}  // namespace lathe::app
