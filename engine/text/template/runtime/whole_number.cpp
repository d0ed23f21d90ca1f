// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/runtime/whole_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lathe::engine::jinja {

std::optional<std::string> whole_digits(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
  return (is_negative && text != "0" ? "-" : "") + std::string(text);
}

std::strong_ordering compare_whole(std::string_view a, std::string_view b) {
  const bool is_negative = a.starts_with('-');
  if (is_negative != b.starts_with('-')) return is_negative ? std::strong_ordering::less : std::strong_ordering::greater;
  const std::strong_ordering order = a.size() != b.size() ? a.size() <=> b.size() : a.compare(b) <=> 0;
  return is_negative ? 0 <=> order : order;
}

std::partial_ordering compare_whole(std::string_view a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (std::isinf(b)) return b > 0 ? std::partial_ordering::less : std::partial_ordering::greater;
  const double whole = std::trunc(b);
  const std::strong_ordering order = compare_whole(a, *whole_digits(fmt::format("{:.0f}", whole)));
  return order != 0 ? std::partial_ordering(order) : whole <=> b;
}

}  // namespace lathe::engine::jinja
