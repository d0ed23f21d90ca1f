// SPDX-License-Identifier: Apache-2.0
// Parts of a text: str.split(), str.rsplit() and str.splitlines(). The caller charges for them.
#pragma once

#include <cstdint>
#include <string>

#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

/// Splits a text into words, which are separated by runs of white space. After max_splits words, counted from the end with
/// `from_end`, the rest is one item.
Items split_words(const MarkedText& text, std::int64_t max_splits, bool from_end);
/// Splits a text at the first max_splits separators, with `from_end` at the last ones. Throws Failure for an empty
/// separator.
Items split_at(const MarkedText& text, const std::string& separator, std::int64_t max_splits, bool from_end);
/// Splits a text at \r, \n and \r\n; with `keep_ends` each line keeps its own.
Items split_lines(const MarkedText& text, bool keep_ends);

}  // namespace lathe::engine::jinja
