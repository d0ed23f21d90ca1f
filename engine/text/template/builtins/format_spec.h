// SPDX-License-Identifier: Apache-2.0
// Python's format specifications, ">8.2f": the text after the colon in a field of str.format(), and the form to which %
// formats are converted.
#pragma once

#include <string>
#include <string_view>

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

/// Fields of [[fill]align][sign][#][0][width][grouping][.precision][type].
struct FormatSpec {
  std::string fill = " ";  ///< one character
  char align = '\0';       ///< < > ^ or =, which fills after the sign; \0: the default of the value's type
  char sign = '-';         ///< + or blank: positive numbers get a sign too
  bool alternate = false;  ///< hexadecimal numbers get a 0x
  std::int64_t width = 0;
  char grouping = '\0';  ///< , or _ between thousands
  int precision = -1;
  char type = '\0';
};

/// Largest precision, and largest width that grouping fills with zeros: it bounds the size of a text before padding.
inline constexpr int kMaxPrecision = 1000;

FormatSpec parse_format_spec(std::string_view text);

// These functions charge for the text that they make, and throw Failure where Python would raise.

/// format(value, spec)
MarkedText formatted(Runtime& runtime, const Value& value, const FormatSpec& spec);
/// Formats a number; an integer becomes a float if the type writes floats.
MarkedText formatted_number(Runtime& runtime, const Value& value, const FormatSpec& spec);
/// Cuts a text to the precision and pads it to the width.
MarkedText formatted_text(Runtime& runtime, const MarkedText& text, const FormatSpec& spec);

}  // namespace lathe::engine::jinja
