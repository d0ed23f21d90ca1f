// SPDX-License-Identifier: Apache-2.0
// The filter wordwrap: breaks lines between words so that they fit a width, as Python's textwrap does.
#pragma once

#include <cstdint>

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

struct WrapStyle {
  std::int64_t width = 79;  ///< characters
  bool break_long_words = true, break_on_hyphens = true;
  MarkedText line_end = MarkedText("\n", Source::model);
};

/// Wraps each line of the text separately. Charges for the text read and made.
MarkedText wrapped(Runtime& runtime, const MarkedText& text, const WrapStyle& style);

}  // namespace lathe::engine::jinja
