// SPDX-License-Identifier: Apache-2.0
// JSON whose whole numbers keep all their digits, for values that are only passed on: tools and arguments of calls. The
// other readers round a whole number of more than 64 bits to a double.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/api/json.h"

namespace lathe::engine {

/// As parse_ordered_json(), but a whole number of more than 64 bits is a value of JSON's type "binary", see digits_of().
Result<OrderedJson> parse_exact_json(std::string_view text, std::string_view name, const JsonLimits& limits = {});

/// The digits of such a number, after "-" if it is negative; nothing for any other value.
std::optional<std::string> digits_of(const Json& value);
std::optional<std::string> digits_of(const OrderedJson& value);

/// The same value with such numbers rounded to doubles, as parse_ordered_json() reads them: for readers that calculate.
OrderedJson rounded_json(OrderedJson json);

/// As dump_json() on one line, with such numbers as their digits.
std::string dump_exact_json(const OrderedJson& json);

}  // namespace lathe::engine
