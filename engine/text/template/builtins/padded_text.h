// SPDX-License-Identifier: Apache-2.0
// Functions that pad texts to a width and cut longer ones. Widths count characters, as in Python.
#pragma once

#include <cstdint>

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

/// Alignment of a text in its width.
enum class Align : std::uint8_t {
  left,
  right,
  center,  ///< as str.center(): of an odd number of fill characters the extra one is on the left if the width is odd
  middle   ///< as format(): the extra one is on the right
};

/// Pads a text with `fill`, a text of one character. Charges for the result.
MarkedText padded(Runtime& runtime, const MarkedText& text, std::int64_t width, const MarkedText& fill, Align align);
/// Implements str.zfill(): zeros follow the sign.
MarkedText zero_filled(Runtime& runtime, const MarkedText& text, std::int64_t width);
/// Implements the filter truncate: at most `length` characters including `end`, cut between words unless `in_words`. A text
/// that exceeds the length by at most `leeway` is not cut.
MarkedText truncated(Runtime& runtime, const MarkedText& text, std::int64_t length, bool in_words, const MarkedText& end,
                     std::int64_t leeway);

}  // namespace lathe::engine::jinja
