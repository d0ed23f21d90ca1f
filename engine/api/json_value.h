// SPDX-License-Identifier: Apache-2.0
// JSON values of requests and settings as typed values. Nothing is converted: "5" is not 5, and neither is true.
// Errors: invalid_argument; the message is a phrase about the value ("must be a number, got a string"), and `where` is the
// path below the value: empty, "[2]" or ".5".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"

namespace lathe::engine {

Result<bool> json_boolean(const Json& value);
/// A whole number of 64 bits, also from a float without fraction below 2^53.
Result<std::int64_t> json_integer(const Json& value);
/// A finite number that is 0 or normal.
Result<double> json_number(const Json& value);
Result<std::string> json_text(const Json& value);
/// A string, or a list of at most `max_items` strings.
Result<std::vector<std::string>> json_texts(const Json& value, std::size_t max_items);
/// A list of at most `max_items` whole numbers of 32 bits.
Result<std::vector<std::int32_t>> json_ids(const Json& value, std::size_t max_items);

/// The message for a value of another type: "must be a list, got a string".
std::string expected_type(std::string_view what, const Json& got);

}  // namespace lathe::engine
