// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/content_key.h"

#include <vector>

#include "engine/sample/grammar/automaton.h"

namespace lathe::engine::grammar {
namespace {

/// The nodes of a rule, up to the next rule's start.
struct NodeRange {
  std::size_t begin = 0, end = 0;
};

std::vector<NodeRange> node_ranges(const Automaton& automaton) {
  std::vector<NodeRange> ranges(automaton.rules.size());
  for (std::size_t i = 0; i < automaton.nodes.size(); ++i) {
    NodeRange& range = ranges[static_cast<std::size_t>(automaton.nodes[i].rule)];
    if (range.end == 0) range.begin = i;
    range.end = i + 1;
  }
  return ranges;
}

/// Hash of a rule's nodes; `rule_key` gives the key of a rule that an edge names.
template <class RuleKey>
std::uint64_t hash_of(const Automaton& automaton, const Automaton::Rule& rule, NodeRange range, std::uint64_t salt,
                      RuleKey rule_key) {
  std::uint64_t hash =
      mixed(salt ^ (static_cast<std::uint64_t>(rule.min) << 32 | static_cast<std::uint32_t>(rule.max)), rule.is_counted());
  if (rule.is_counted()) hash = mixed(hash, rule_key(rule.body));
  const auto local = [&](std::int32_t node) { return static_cast<std::uint64_t>(node) - range.begin; };
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const Automaton::Node& node = automaton.nodes[i];
    hash = mixed(hash, node.is_final);
    for (const auto& edge : automaton.bytes_of(node))
      hash = mixed(hash, local(edge.target) << 16 | static_cast<std::uint64_t>(edge.first) << 8 | edge.last);
    for (const auto& edge : automaton.rules_of(node)) hash = mixed(mixed(hash, local(edge.target)), rule_key(edge.rule));
  }
  return hash | 1;
}

/// The rules in an order in which those that a rule uses come before it; rules that use themselves are left out.
std::vector<std::int32_t> without_cycles(const Automaton& automaton, const std::vector<NodeRange>& ranges) {
  const std::size_t n = automaton.rules.size();
  std::vector<std::vector<std::int32_t>> used_by(n);
  std::vector<std::size_t> n_uses(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const auto use = [&](std::int32_t rule) {
      used_by[static_cast<std::size_t>(rule)].push_back(static_cast<std::int32_t>(i));
      ++n_uses[i];
    };
    if (automaton.rules[i].is_counted()) use(automaton.rules[i].body);
    for (std::size_t node = ranges[i].begin; node < ranges[i].end; ++node) {
      for (const auto& edge : automaton.rules_of(automaton.nodes[node])) use(edge.rule);
    }
  }
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < n; ++i) {
    if (n_uses[i] == 0) order.push_back(static_cast<std::int32_t>(i));
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::int32_t user : used_by[static_cast<std::size_t>(order[i])]) {
      if (--n_uses[static_cast<std::size_t>(user)] == 0) order.push_back(user);
    }
  }
  return order;
}

}  // namespace

void add_content_keys(Automaton& automaton, std::uint64_t salt) {
  const std::vector<NodeRange> ranges = node_ranges(automaton);
  const auto by_content = [&](std::int32_t rule) { return automaton.rules[static_cast<std::size_t>(rule)].content; };
  for (const std::int32_t rule : without_cycles(automaton, ranges)) {
    const auto i = static_cast<std::size_t>(rule);
    automaton.rules[i].content = hash_of(automaton, automaton.rules[i], ranges[i], salt, by_content);
  }
  const auto by_number = [](std::int32_t rule) { return static_cast<std::uint64_t>(rule); };
  automaton.hash = mixed(salt, automaton.rules.size());
  for (std::size_t i = 0; i < automaton.rules.size(); ++i)
    automaton.hash = mixed(automaton.hash, hash_of(automaton, automaton.rules[i], ranges[i], salt, by_number));
}

}  // namespace lathe::engine::grammar
