// SPDX-License-Identifier: Apache-2.0
// From a regular expression to nodes of a grammar.
#pragma once

#include <optional>
#include <string_view>

#include "engine/sample/grammar/character_spelling.h"
#include "engine/sample/grammar/regex_syntax.h"

namespace lathe::engine::grammar {

/// Lengths of a string in characters.
struct LengthRange {
  std::int32_t min = 0, max = kUnbounded;
  bool is_free() const { return min == 0 && max < 0; }
  bool holds(std::int64_t n) const { return n >= min && (max < 0 || n <= max); }
};

/// Appends texts that the expression matches as a whole; anchors at its ends say nothing more. Errors: in the builder.
NodeId append_regex(GrammarBuilder& builder, NodeId from, std::string_view pattern, Spelling spelling);
/// Appends texts in which the expression matches somewhere, as JSON Schema's `pattern`, of so many characters.
NodeId append_pattern(GrammarBuilder& builder, NodeId from, std::string_view pattern, LengthRange length, Spelling spelling);
/// Whether the expression matches somewhere in the text. Errors: those of parse_regex().
Result<bool> pattern_matches(std::string_view pattern, std::string_view text);

}  // namespace lathe::engine::grammar
