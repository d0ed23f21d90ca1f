// SPDX-License-Identifier: Apache-2.0
// Methods of texts, lists and dicts, under Python's names. Lists and dicts cannot be changed by a template.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

using Method = Value (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

/// Null when values of this kind have no such method.
Method find_method(const Value& object, std::string_view name);
/// The method as a value that can be called.
std::optional<Value> bound_method(const Value& object, const std::string& name);

// Shared with filters. All charge for the text that they read and make.

enum class Side : std::uint8_t { both, left, right };
MarkedText stripped(Runtime& runtime, const MarkedText& text, const Value* characters, Side side);
MarkedText replaced(Runtime& runtime, const MarkedText& text, const MarkedText& from, const MarkedText& to,
                    std::int64_t count);
enum class LetterCase : std::uint8_t {
  upper,
  lower,
  title,  ///< str.title(): a word ends at whatever is no letter
  words,  ///< the filter title: a word ends at white space and - ( { [ <
  capitalized,
  folded,  ///< for comparing without regard to case
  swapped  ///< upper for lower and lower for upper
};
MarkedText with_case(Runtime& runtime, const MarkedText& text, LetterCase letters);
MarkedText joined_items(Runtime& runtime, const MarkedText& separator, const Items& items);

/// The argument as a text. Throws when it is missing or something else.
const MarkedText& text_argument(const Arguments& arguments, std::size_t index, std::string_view name);
std::int64_t integer_argument(const Arguments& arguments, std::size_t index, std::string_view name, std::int64_t fallback);

}  // namespace lathe::engine::jinja
