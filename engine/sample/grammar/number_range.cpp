// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/number_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/sample/grammar/json_rules.h"

namespace lathe::engine::grammar {
namespace {

void trim(Decimal& value) {
  while (value.whole.size() > 1 && value.whole.front() == '0') value.whole.erase(0, 1);
  while (!value.fraction.empty() && value.fraction.back() == '0') value.fraction.pop_back();
  if (value.is_zero()) value.is_negative = false;
}

int compare_magnitudes(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
  if (const int whole = a.whole.compare(b.whole); whole != 0) return whole;
  return a.fraction.compare(b.fraction);  // without zeros behind, the shorter of two that begin alike is smaller
}

/// Bounds of the digits behind the sign.
struct Magnitudes {
  std::optional<NumberBound> min, max;
};

/// Appends magnitudes: the digits are read with what is still open about each bound.
class MagnitudeAppender {
 public:
  MagnitudeAppender(GrammarBuilder& builder, const NumberRange& range, const Magnitudes& bounds)
      : builder_(builder), range_(range), bounds_(bounds), end_(builder.add_node()) {}

  NodeId append(NodeId from) {
    for (std::int32_t n = 1; n <= kIntegerDigits; ++n) {
      const auto length = static_cast<std::size_t>(n);
      if (bounds_.min && length < bounds_.min->value.whole.size()) continue;
      if (bounds_.max && length > bounds_.max->value.whole.size()) break;
      const bool on_min = bounds_.min && length == bounds_.min->value.whole.size();
      const bool on_max = bounds_.max && length == bounds_.max->value.whole.size();
      builder_.add_empty(from, node_of({.n = n, .is_whole = true, .is_first = true, .on_min = on_min, .on_max = on_max}));
    }
    while (!todo_.empty() && !builder_.failed()) {
      const Place place = todo_.back();
      todo_.pop_back();
      place.is_whole ? read_whole(place) : read_fraction(place);
    }
    return end_;
  }

 private:
  struct Place {
    std::int32_t n = 0;  ///< digits of the integer part that are left, or of the fraction that were read
    bool is_whole = false, is_first = false;
    bool on_min = false, on_max = false;  ///< the digits so far are those of the bound
    std::int32_t remainder = 0;
    auto key() const { return std::tie(n, is_whole, is_first, on_min, on_max, remainder); }
    bool operator<(const Place& other) const { return key() < other.key(); }
  };

  NodeId node_of(const Place& place) {
    const auto [found, is_new] = nodes_.try_emplace(place, 0);
    if (is_new) {
      found->second = builder_.add_node();
      todo_.push_back(place);
    }
    return found->second;
  }

  static int digit_of(const std::string& digits, std::size_t at) { return at < digits.size() ? digits[at] - '0' : 0; }

  /// Adds the digits that stay within the bounds; next(digit) gives the place behind one.
  template <class Next>
  void add_digits(NodeId from, const Place& place, int min_digit, int max_digit, Next next) {
    const bool may_not_be_zero = place.is_first && place.n > 1;
    for (int digit = may_not_be_zero ? 1 : 0; digit <= 9; ++digit) {
      if ((place.on_min && digit < min_digit) || (place.on_max && digit > max_digit)) continue;
      Place to = next(digit);
      to.on_min = place.on_min && digit == min_digit;
      to.on_max = place.on_max && digit == max_digit;
      const auto byte = static_cast<std::uint8_t>('0' + digit);
      builder_.add_bytes(from, byte, byte, node_of(to));
    }
  }

  void read_whole(const Place& place) {
    const NodeId here = nodes_.at(place);
    if (place.n == 0) {
      if (range_.multiple_of > 0 && place.remainder != 0) return;
      return builder_.add_empty(here, node_of({.n = 0, .on_min = place.on_min, .on_max = place.on_max}));
    }
    const auto digit_in = [&](bool counts, const std::optional<NumberBound>& bound) {
      return counts ? digit_of(bound->value.whole, bound->value.whole.size() - static_cast<std::size_t>(place.n)) : 0;
    };
    add_digits(here, place, digit_in(place.on_min, bounds_.min), digit_in(place.on_max, bounds_.max), [&](int digit) {
      const std::int64_t value = std::int64_t{place.remainder} * 10 + digit;
      const auto remainder = static_cast<std::int32_t>(range_.multiple_of > 0 ? value % range_.multiple_of : 0);
      return Place{.n = place.n - 1, .is_whole = true, .remainder = remainder};
    });
  }

  bool may_end(const Place& place) const {
    const auto has_rest = [&](const Decimal& bound) { return static_cast<std::size_t>(place.n) < bound.fraction.size(); };
    if (place.on_min && (has_rest(bounds_.min->value) || bounds_.min->is_exclusive)) return false;
    return !place.on_max || has_rest(bounds_.max->value) || !bounds_.max->is_exclusive;
  }

  void read_fraction(const Place& place) {
    const NodeId here = nodes_.at(place);
    if (may_end(place)) builder_.add_empty(here, end_);
    const std::int32_t most = range_.fraction_digits >= 0 ? range_.fraction_digits : kFractionDigits;
    if (range_.is_integer || place.n >= most) return;
    const NodeId from = place.n == 0 ? builder_.append(here, ".") : here;
    const auto at = static_cast<std::size_t>(place.n);
    const int min_digit = place.on_min ? digit_of(bounds_.min->value.fraction, at) : 0;
    const int max_digit = place.on_max ? digit_of(bounds_.max->value.fraction, at) : 0;
    add_digits(from, place, min_digit, max_digit, [&](int) { return Place{.n = place.n + 1}; });
  }

  GrammarBuilder& builder_;
  const NumberRange& range_;
  const Magnitudes& bounds_;
  const NodeId end_;
  std::map<Place, NodeId> nodes_;
  std::vector<Place> todo_;
};

std::optional<NumberBound> negated(const std::optional<NumberBound>& bound) {
  if (!bound) return std::nullopt;
  NumberBound out = *bound;
  if (!out.value.is_zero()) out.value.is_negative = !out.value.is_negative;
  return out;
}

bool is_empty(const Magnitudes& bounds) {
  if (!bounds.min || !bounds.max) return false;
  const int order = compare_magnitudes(bounds.min->value, bounds.max->value);
  return order > 0 || (order == 0 && (bounds.min->is_exclusive || bounds.max->is_exclusive));
}

/// The part of a range on one side of zero, as magnitudes; none: there is none.
std::optional<Magnitudes> upper_part(std::optional<NumberBound> min, std::optional<NumberBound> max, bool with_zero) {
  if (max && max->value.is_negative) return std::nullopt;
  if (!min || min->value.is_negative || (min->value.is_zero() && !with_zero))
    min = NumberBound{.value = {}, .is_exclusive = !with_zero};
  Magnitudes bounds{min, max};
  if (is_empty(bounds)) return std::nullopt;
  return bounds;
}

}  // namespace

Decimal decimal_of(std::int64_t value) {
  Decimal out{.is_negative = value < 0, .whole = fmt::format("{}", value)};
  if (out.is_negative) out.whole.erase(0, 1);
  return out;
}

Decimal decimal_of(double value) {
  const std::string text = fmt::format("{}", value);  // the shortest digits that give the number back
  Decimal out;
  std::size_t at = 0;
  if (text[at] == '-') out.is_negative = true, ++at;
  const auto place_of = [&](char c) { return static_cast<std::size_t>(std::ranges::find(text, c) - text.begin()); };
  const std::size_t e = place_of('e'), dot = std::min(place_of('.'), e);
  out.whole = text.substr(at, dot - at);
  if (dot < e) out.fraction = text.substr(dot + 1, e - dot - 1);
  int exponent = e < text.size() ? std::stoi(text.substr(e + 1)) : 0;
  for (; exponent > 0; --exponent) {
    out.whole += out.fraction.empty() ? '0' : out.fraction.front();
    if (!out.fraction.empty()) out.fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    out.fraction.insert(out.fraction.begin(), out.whole.back());
    out.whole.pop_back();
    if (out.whole.empty()) out.whole = "0";
  }
  trim(out);
  return out;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.is_negative != b.is_negative) return a.is_negative ? -1 : 1;
  const int order = compare_magnitudes(a, b);
  return a.is_negative ? -order : order;
}

NodeId append_number(GrammarBuilder& builder, NodeId from, const NumberRange& range) {
  const NodeId end = builder.add_node();
  if (const auto above = upper_part(range.min, range.max, true)) {
    builder.add_empty(MagnitudeAppender(builder, range, *above).append(from), end);
  }
  if (const auto below = upper_part(negated(range.max), negated(range.min), false)) {
    builder.add_empty(MagnitudeAppender(builder, range, *below).append(builder.append(from, "-")), end);
  }
  return end;
}

}  // namespace lathe::engine::grammar
