// SPDX-License-Identifier: Apache-2.0
// Parser of regular expressions as JSON Schema and guided decoding use them.
// Source: ECMA-262, 22.2.1 Patterns. Where ECMA-262 and Python's re disagree about a class, it has what both have, so that
// an answer matches in either.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"
#include "engine/sample/grammar/code_points.h"

namespace lathe::engine::grammar {

struct RegexNode {
  enum class Kind : std::uint8_t { set, sequence, choice, repeat, text_start, text_end };
  Kind kind = Kind::sequence;
  CodePointSet set{};
  std::vector<std::int32_t> parts{};  ///< indices in RegexTree::nodes; of a repeat one
  std::int32_t min = 1, max = 1;      ///< of a repeat; max = kUnbounded
};

struct RegexTree {
  std::vector<RegexNode> nodes;
  std::int32_t root = 0;
  const RegexNode& node(std::int32_t i) const { return nodes[static_cast<std::size_t>(i)]; }
};

/// Errors: invalid_argument: what is wrong, and at which byte. What no automaton can read (references back, assertions about
/// what surrounds a place) is refused by name.
Result<RegexTree> parse_regex(std::string_view pattern, int max_depth);

/// The class of an escape (\d, \D, \s, \S, \w, \W) or of \p{...}. `is_wide`: what either standard has in it; else what both
/// have.
CodePointSet regex_class(char letter, bool is_wide);

}  // namespace lathe::engine::grammar
