// SPDX-License-Identifier: Apache-2.0
#include "engine/api/json_value.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

namespace lathe::engine {
namespace {

std::string_view with_article(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_string()) return "a string";
  if (value.is_boolean()) return "true or false";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return "a number";
}

tl::unexpected<Error> refuse(std::string message, std::string where = {}) {
  return fail(ErrorCode::invalid_argument, std::move(message), std::move(where));
}

std::optional<std::int64_t> whole_number(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  constexpr double exact = 9007199254740992.0;  // 2^53: from there on a double is any of several integers
  const double number = value.get<double>();
  if (!(std::abs(number) < exact) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace

std::string expected_type(std::string_view what, const Json& got) {
  return fmt::format("must be {}, got {}", what, with_article(got));
}

Result<bool> json_boolean(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  return refuse(expected_type("true or false", value));
}

Result<std::int64_t> json_integer(const Json& value) {
  if (const auto number = whole_number(value)) return *number;
  return refuse(value.is_number() ? "must be a whole number between -2^63 and 2^63 - 1"
                                  : expected_type("a whole number", value));
}

Result<double> json_number(const Json& value) {
  if (!value.is_number()) return refuse(expected_type("a number", value));
  const auto number = value.get<double>();
  if (std::isfinite(number) && std::fpclassify(number) != FP_SUBNORMAL) return number;
  return refuse("is too large or too close to zero for a 64-bit floating-point number");
}

Result<std::string> json_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return refuse(expected_type("a string", value));
}

Result<std::vector<std::string>> json_texts(const Json& value, std::size_t max_items) {
  if (value.is_string()) return std::vector{value.get<std::string>()};
  if (!value.is_array()) return refuse(expected_type("a string or a list of strings", value));
  if (value.size() > max_items) {
    return refuse(fmt::format("may hold at most {} strings, got {}", max_items, value.size()));
  }
  std::vector<std::string> texts;
  for (const Json& item : value) {
    if (!item.is_string()) return refuse(expected_type("a string", item), fmt::format("[{}]", texts.size()));
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Result<std::vector<std::int32_t>> json_ids(const Json& value, std::size_t max_items) {
  if (!value.is_array()) return refuse(expected_type("a list", value));
  if (value.size() > max_items) return refuse(fmt::format("may hold at most {} IDs, got {}", max_items, value.size()));
  std::vector<std::int32_t> ids;
  ids.reserve(value.size());
  for (const Json& item : value) {
    const auto number = whole_number(item);
    if (!number || *number < std::numeric_limits<std::int32_t>::min() ||
        *number > std::numeric_limits<std::int32_t>::max()) {
      return refuse("must be a token ID, a whole number", fmt::format("[{}]", ids.size()));
    }
    ids.push_back(static_cast<std::int32_t>(*number));
  }
  return ids;
}

}  // namespace lathe::engine
