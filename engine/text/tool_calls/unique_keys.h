// SPDX-License-Identifier: Apache-2.0
// JSON that a model wrote, read as Python's json.loads reads it: of a doubled key the last value counts, and a number may be
// too large for a double. NaN and Infinity, which JSON does not have, are refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/api/json.h"

namespace lathe::engine {

/// Returns the text with each key once, at its first place with its last value: `text` itself if no key is doubled, since
/// its bytes keep the digits of numbers. Nothing if it is not JSON, or is nested deeper or longer than parse_json() allows.
std::optional<std::string> json_with_unique_keys(std::string_view text);

/// The value of such a text; numbers too large for a double are infinite.
std::optional<Json> value_of_written_json(std::string_view text);

}  // namespace lathe::engine
