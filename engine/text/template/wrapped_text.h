// SPDX-License-Identifier: Apache-2.0
// Lines cut between words so that they fit a width, as Python's textwrap does it.
#pragma once

#include <cstdint>

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

struct WrapStyle {
  std::int64_t width = 79;  ///< characters
  bool break_long_words = true, break_on_hyphens = true;
  MarkedText line_end = MarkedText("\n", Source::model);
};

/// Each line of the text on its own. Charges for what it reads and makes.
MarkedText wrapped(Runtime& runtime, const MarkedText& text, const WrapStyle& style);

}  // namespace lathe::engine::jinja
