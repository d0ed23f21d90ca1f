// SPDX-License-Identifier: Apache-2.0
// Automaton: a compiled grammar. Each rule is an automaton over bytes and rules without empty edges, mostly deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/result.h"
#include "engine/sample/grammar/grammar_builder.h"

namespace lathe::engine::grammar {

/// Invariant: every node leads to the end of its rule, so that whatever the automaton has read is the beginning of a valid
/// text. The nodes of a rule are consecutive, its start first.
struct Automaton {
  struct ByteEdge {
    std::uint8_t first = 0, last = 0;
    std::int32_t target = 0;
  };
  struct RuleEdge {
    std::int32_t rule = 0, target = 0;
  };
  struct Node {
    std::int32_t rule = 0;
    std::uint32_t byte_begin = 0, byte_end = 0, rule_begin = 0, rule_end = 0;
    bool is_final = false;
    bool is_tail() const { return is_final && byte_begin == byte_end && rule_begin == rule_end; }
  };
  struct Rule {
    std::int32_t start = 0;
    std::int32_t body = -1;         ///< >= 0: a counted rule, whose start is its only node
    std::int32_t counted_by = -1;   ///< the counted rule of which this rule is the body
    std::int32_t min = 0, max = 0;  ///< of a counted rule; max < 0: unbounded
    std::uint64_t content = 0;      ///< hash of the rule and those that it uses; 0: it uses itself
    bool is_counted() const { return body >= 0; }
  };

  std::vector<Node> nodes;
  std::vector<ByteEdge> byte_edges;
  std::vector<RuleEdge> rule_edges;
  std::vector<Rule> rules;  ///< the root is rule 0
  std::uint64_t hash = 0;   ///< of the whole

  std::span<const ByteEdge> bytes_of(const Node& node) const {
    return std::span(byte_edges).subspan(node.byte_begin, node.byte_end - node.byte_begin);
  }
  std::span<const RuleEdge> rules_of(const Node& node) const {
    return std::span(rule_edges).subspan(node.rule_begin, node.rule_end - node.rule_begin);
  }
  std::size_t n_bytes() const;
};

/// Compiles what `root` reaches. Errors: those of the builder; invalid_argument when no text ends.
Result<Automaton> make_automaton(GrammarBuilder& builder, RuleId root);

}  // namespace lathe::engine::grammar
