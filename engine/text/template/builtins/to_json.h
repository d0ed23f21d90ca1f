// SPDX-License-Identifier: Apache-2.0
// Conversion of values to JSON, as Python's json.dumps writes it, and of JSON to values.
#pragma once

#include "engine/api/json.h"
#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

struct JsonStyle {
  std::int64_t indent = -1;  ///< spaces per level; -1: one line
  bool sort_keys = false;
  bool ascii = false;  ///< write non-ASCII characters as \u escapes
  std::string item_separator = ", ", key_separator = ": ";
};

/// Throws Failure for values that JSON cannot represent.
MarkedText to_json(Runtime& runtime, const Value& value, const JsonStyle& style);
/// Converts JSON to a value; its texts get the origin `source`. Whole numbers that parse_exact_json() read keep all digits.
Value from_json(const Json& json, Source source);
Value from_json(const OrderedJson& json, Source source);

}  // namespace lathe::engine::jinja
