// SPDX-License-Identifier: Apache-2.0
// Texts made from other texts, for methods and filters: stripped, replaced, in another case, joined. All keep the origin
// (Source) of each byte, and charge for the text that they read and make.
#pragma once

#include <cstdint>

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

enum class Side : std::uint8_t { both, left, right };
MarkedText stripped(Runtime& runtime, const MarkedText& text, const Value* characters, Side side);
MarkedText replaced(Runtime& runtime, const MarkedText& text, const MarkedText& from, const MarkedText& to,
                    std::int64_t count);
enum class LetterCase : std::uint8_t {
  upper,
  lower,
  title,  ///< str.title(): a word ends at the first character that is not a letter
  words,  ///< the filter title: a word ends at white space and - ( { [ <
  capitalized,
  folded,  ///< case-folded, to compare texts without regard to case
  swapped  ///< upper and lower case are exchanged
};
MarkedText with_case(Runtime& runtime, const MarkedText& text, LetterCase letters);
MarkedText joined_items(Runtime& runtime, const MarkedText& separator, const Items& items);

}  // namespace lathe::engine::jinja
