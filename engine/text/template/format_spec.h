// SPDX-License-Identifier: Apache-2.0
// Python's format specifications, ">8.2f": what stands behind the colon of a field of str.format(), and what % makes of its
// own.
#pragma once

#include <string>
#include <string_view>

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

/// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct FormatSpec {
  std::string fill = " ";  ///< one character
  char align = '\0';       ///< < > ^ or =, which fills behind the sign; none: as the kind of value has it
  char sign = '-';         ///< + and blank write one for positive numbers too
  bool alternate = false;  ///< 0x before a hexadecimal number
  std::int64_t width = 0;
  char grouping = '\0';  ///< , or _ between thousands
  int precision = -1;
  char type = '\0';
};

/// No text that a specification asks for is longer than this before it is padded.
inline constexpr int kMaxPrecision = 1000;

FormatSpec parse_format_spec(std::string_view text);

// Both charge for what they make, and throw Failure where Python would raise.

/// format(value, spec)
MarkedText formatted(Runtime& runtime, const Value& value, const FormatSpec& spec);
/// A number only; whole numbers for types that write floats become floats.
MarkedText formatted_number(Runtime& runtime, const Value& value, const FormatSpec& spec);
/// A text cut to the precision and filled up to the width.
MarkedText formatted_text(Runtime& runtime, const MarkedText& text, const FormatSpec& spec);

}  // namespace lathe::engine::jinja
