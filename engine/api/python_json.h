// SPDX-License-Identifier: Apache-2.0
// JSON as Python's json module writes it, as in most files of checkpoints. Source: Python, Lib/json/decoder.py.
#pragma once

#include "engine/api/json.h"

namespace lathe::engine {

/// As parse_json(), but a byte order mark is skipped, and NaN, Infinity, -Infinity and numbers too large for a double are
/// non-finite doubles, as are objects like {"__float__": "Infinity"}, which transformers 5 writes in their place.
Result<Json> parse_python_json(std::string_view text, std::string_view name, const JsonLimits& limits = {});

/// As parse_ordered_json(); a text that it refuses is read as json.loads() does: NaN, Infinity, -Infinity and numbers too
/// large for a double are non-finite doubles, and a key that appears twice has its last value.
Result<OrderedJson> parse_python_ordered_json(std::string_view text, std::string_view name, const JsonLimits& limits = {});

/// The text of a value for a message, at most 80 bytes; non-finite numbers as NaN, Infinity, -Infinity.
std::string excerpt_of_json(const Json& value);

}  // namespace lathe::engine
