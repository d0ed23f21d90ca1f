// SPDX-License-Identifier: Apache-2.0
// Texts made as long as asked, and cut where they are too long. Widths count characters, as Python's do.
#pragma once

#include <cstdint>

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

/// Where a text comes to stand in its width.
enum class Align : std::uint8_t {
  left,
  right,
  center,  ///< as str.center() has it, the odd one to the left where the width is odd
  middle   ///< as format() has it, the odd one to the right
};

/// Filled up with `fill`, a text of one character. Charges for what it makes.
MarkedText padded(Runtime& runtime, const MarkedText& text, std::int64_t width, const MarkedText& fill, Align align);
/// str.zfill(): zeros behind the sign.
MarkedText zero_filled(Runtime& runtime, const MarkedText& text, std::int64_t width);
/// The filter truncate: at most `length` characters, `end` among them, cut between words unless `in_words`. A text that is
/// longer by no more than `leeway` stays.
MarkedText truncated(Runtime& runtime, const MarkedText& text, std::int64_t length, bool in_words, const MarkedText& end,
                     std::int64_t leeway);

}  // namespace lathe::engine::jinja
