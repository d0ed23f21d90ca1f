// SPDX-License-Identifier: Apache-2.0
#include "engine/base/non_finite.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace lathe::engine {
namespace {

/// Zeros with an exponent that no writer of numbers gives a zero.
constexpr std::string_view kNaN = "0E7";
constexpr std::string_view kBefore = "0E-", kEnd = "77";  // around the zeros that fill an infinity's length

constexpr std::string_view kWordOfNaN = "NaN", kWordOfInfinity = "Infinity";
constexpr std::string_view kInNumbers = "+-.0123456789eE";

std::string infinity_of_length(std::size_t n_bytes) {
  const std::size_t n_around = kBefore.size() + kEnd.size();
  return std::string(kBefore) + std::string(n_bytes - n_around, '0') + std::string(kEnd);
}

/// Whether a number is too large for a double. Requires: no sign.
bool is_too_large(std::string_view number) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  // from_chars reports the same error for numbers too near to zero.
  const bool is_whole = end == number.data() + number.size();
  const std::size_t exponent = number.find_first_of("eE");
  const bool is_small =
      exponent == std::string_view::npos ? number.starts_with('0') : number.substr(exponent + 1).starts_with('-');
  return is_whole && error == std::errc::result_out_of_range && !is_small;
}

/// Length in bytes of the string that begins with a quotation mark, both marks included.
std::size_t string_length(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

}  // namespace

std::string with_finite_spellings(std::string_view text) {
  std::string changed(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (rest.front() == '"') {
      at += string_length(rest);
    } else if (rest.starts_with(kWordOfNaN)) {
      changed.replace(at, kNaN.size(), kNaN);
      at += kNaN.size();
    } else if (rest.starts_with(kWordOfInfinity)) {
      changed.replace(at, kWordOfInfinity.size(), infinity_of_length(kWordOfInfinity.size()));
      at += kWordOfInfinity.size();
    } else if (rest.front() >= '0' && rest.front() <= '9') {
      const std::string_view number = rest.substr(0, rest.find_first_not_of(kInNumbers));
      if (is_too_large(number)) changed.replace(at, number.size(), infinity_of_length(number.size()));
      at += number.size();
    } else {
      ++at;
    }
  }
  return changed;
}

std::optional<double> non_finite_of(std::string_view number) {
  const bool is_negative = number.starts_with('-');
  if (is_negative) number.remove_prefix(1);
  if (number == kNaN) return std::numeric_limits<double>::quiet_NaN();
  const bool is_infinity =
      number.size() >= kBefore.size() + kEnd.size() && number.starts_with(kBefore) && number.ends_with(kEnd) &&
      number.substr(0, number.size() - kEnd.size()).find_first_not_of('0', kBefore.size()) == std::string_view::npos;
  if (!is_infinity) return std::nullopt;
  return is_negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

}  // namespace lathe::engine
