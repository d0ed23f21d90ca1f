// SPDX-License-Identifier: Apache-2.0
// CharacterGraph: an expression as a graph over characters, in which anchors are edges of their own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/sample/grammar/character_spelling.h"
#include "engine/sample/grammar/regex_rules.h"
#include "engine/sample/grammar/regex_syntax.h"

namespace lathe::engine::grammar {

/// Repeats are copies here, so `builder` counts them against its limits.
class CharacterGraph {
 public:
  /// `is_search`: any characters may come before and behind what the expression matches.
  CharacterGraph(GrammarBuilder& builder, const RegexTree& tree, bool is_search);

  /// Appends the texts of the graph with so many characters; returns the node behind them.
  NodeId append_to(NodeId from, LengthRange length, Spelling spelling) const;
  bool matches(std::string_view text) const;

 private:
  enum class Kind : std::uint8_t { empty, set, text_start, text_end };
  struct Edge {
    Kind kind = Kind::empty;
    std::int32_t target = 0;
    CodePointSet set{};
  };
  std::int32_t add_node();
  void add(std::int32_t from, Edge edge);
  std::int32_t add_part(std::int32_t from, const RegexTree& tree, std::int32_t part);
  std::int32_t add_repeat(std::int32_t from, const RegexTree& tree, const RegexNode& node);
  void add_any(std::int32_t at) { add(at, {.kind = Kind::set, .target = at, .set = CodePointSet::all()}); }

  GrammarBuilder* builder_;
  std::vector<std::vector<Edge>> nodes_;
  std::int32_t start_ = 0, final_ = 0;
};

}  // namespace lathe::engine::grammar
