// SPDX-License-Identifier: Apache-2.0
// JSON that a model wrote, in which a key may be doubled: the last value counts, as in Python's json.loads. Numbers that no
// double holds, NaN and Infinity are refused: clients could not read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::engine {

/// Returns the text with each key once, at its first place with its last value: `text` itself if no key is doubled, since
/// its bytes keep the digits of numbers. Nothing if it is not JSON, or is nested deeper or longer than parse_json() allows.
std::optional<std::string> json_with_unique_keys(std::string_view text);

}  // namespace lathe::engine
