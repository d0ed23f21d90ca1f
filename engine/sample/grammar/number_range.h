// SPDX-License-Identifier: Apache-2.0
// Numbers between bounds, digit by digit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/sample/grammar/grammar_builder.h"

namespace lathe::engine::grammar {

/// A decimal number without exponent: "-12.5" is {true, "12", "5"}. Invariant: no zeros in front of the integer part but for
/// "0", none behind the fraction.
struct Decimal {
  bool is_negative = false;
  std::string whole = "0", fraction{};
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};
Decimal decimal_of(double value);
Decimal decimal_of(std::int64_t value);
/// Negative: a < b; 0: they are equal.
int compare(const Decimal& a, const Decimal& b);

struct NumberBound {
  Decimal value;
  bool is_exclusive = false;
};

struct NumberRange {
  std::optional<NumberBound> min, max;
  bool is_integer = false;
  std::int32_t fraction_digits = -1;  ///< at most; -1: as many as other numbers have
  std::int32_t multiple_of = 0;       ///< of integers; 0: any
};

/// Appends the numbers of a range, without exponents, of at most kIntegerDigits and kFractionDigits digits.
NodeId append_number(GrammarBuilder& builder, NodeId from, const NumberRange& range);

}  // namespace lathe::engine::grammar
