// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/automaton.h"

#include <algorithm>
#include <map>

#include "engine/sample/grammar/content_key.h"
#include "engine/sample/grammar/rule_facts.h"

namespace lathe::engine::grammar {
namespace {

using Edge = GrammarBuilder::Edge;
using Subset = std::vector<NodeId>;  // ascending

/// Subsets of a rule beyond which its nodes are kept as they are, with several targets for a byte.
constexpr std::size_t kSubsetsPerNode = 4, kLeastSubsets = 256;

/// Makes the rules that the root reaches, one after another.
class AutomatonMaker {
 public:
  AutomatonMaker(GrammarBuilder& builder, const RuleFacts& facts)
      : builder_(builder), facts_(facts), numbers_(builder.rules().size(), -1), visits_(builder.nodes().size(), 0) {}

  Automaton make(RuleId root) {
    number_of(root);
    for (std::size_t i = 0; i < order_.size() && !builder_.failed(); ++i) make_rule(order_[i], static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < out_.rules.size(); ++i) {
      const std::int32_t body = out_.rules[i].body;
      if (body >= 0) out_.rules[static_cast<std::size_t>(body)].counted_by = static_cast<std::int32_t>(i);
    }
    return std::move(out_);
  }

 private:
  std::int32_t number_of(RuleId rule) {
    std::int32_t& number = numbers_[static_cast<std::size_t>(rule)];
    if (number < 0) {
      number = static_cast<std::int32_t>(order_.size());
      order_.push_back(rule);
      out_.rules.emplace_back();
    }
    return number;
  }

  bool is_useful(const Edge& edge) const {
    return facts_.is_productive(edge.target) && (edge.rule < 0 || facts_.rule_is_productive(edge.rule));
  }

  /// Adds to `set` whatever its nodes reach by empty edges and by rules that may be empty.
  void close(Subset& set) {
    ++visit_;
    for (const NodeId node : set) visits_[static_cast<std::size_t>(node)] = visit_;
    for (std::size_t i = 0; i < set.size(); ++i) {
      for (const Edge& edge : builder_.nodes()[static_cast<std::size_t>(set[i])]) {
        const bool is_free = edge.is_empty || (edge.rule >= 0 && facts_.rule_is_nullable(edge.rule));
        if (!is_free || !facts_.is_productive(edge.target)) continue;
        if (visits_[static_cast<std::size_t>(edge.target)] == visit_) continue;
        visits_[static_cast<std::size_t>(edge.target)] = visit_;
        set.push_back(edge.target);
      }
    }
    std::sort(set.begin(), set.end());
    builder_.count(set.size() / 16);
  }

  void make_rule(RuleId id, std::int32_t number) {
    const GrammarBuilder::Rule& rule = builder_.rule(id);
    const auto first_node = out_.nodes.size(), first_byte = out_.byte_edges.size(), first_rule = out_.rule_edges.size();
    Automaton::Rule made{.start = static_cast<std::int32_t>(first_node)};
    if (rule.body >= 0) {
      made.min = facts_.rule_is_nullable(rule.body) ? 0 : rule.min;
      made.max = rule.max;
      made.body = number_of(rule.body);
      out_.nodes.push_back({.rule = number,
                            .byte_begin = edge_end(),
                            .byte_end = edge_end(),
                            .rule_begin = rule_end(),
                            .rule_end = rule_end()});
    } else if (!make_subsets(rule, number, true)) {
      out_.nodes.resize(first_node);
      out_.byte_edges.resize(first_byte);
      out_.rule_edges.resize(first_rule);
      make_subsets(rule, number, false);
    }
    out_.rules[static_cast<std::size_t>(number)] = made;
  }

  std::uint32_t edge_end() const { return static_cast<std::uint32_t>(out_.byte_edges.size()); }
  std::uint32_t rule_end() const { return static_cast<std::uint32_t>(out_.rule_edges.size()); }

  std::int32_t subset_number(Subset set) {
    const auto [found, is_new] = subsets_.try_emplace(std::move(set), static_cast<std::int32_t>(pending_.size()));
    if (is_new) pending_.push_back(&found->first);
    return found->second;
  }

  /// False: there are too many subsets. `joins`: nodes of one byte become one subset; else each node is one of its own.
  bool make_subsets(const GrammarBuilder::Rule& rule, std::int32_t number, bool joins) {
    subsets_.clear();
    pending_.clear();
    Subset start{rule.start};
    close(start);
    subset_number(std::move(start));
    const auto base = static_cast<std::int32_t>(out_.nodes.size());
    std::size_t n_members = 0;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const Subset& set = *pending_[i];
      n_members += set.size();
      if (joins && (n_members > kSubsetsPerNode * builder_.nodes().size() + kLeastSubsets)) return false;
      Automaton::Node node{.rule = number, .byte_begin = edge_end(), .rule_begin = rule_end()};
      node.is_final = std::binary_search(set.begin(), set.end(), rule.final);
      joins ? join_bytes(set, base) : copy_bytes(set, base);
      add_rules(set, base, joins);
      node.byte_end = edge_end();
      node.rule_end = rule_end();
      out_.nodes.push_back(node);
      builder_.count(1 + node.byte_end - node.byte_begin + node.rule_end - node.rule_begin);
      if (builder_.failed()) return true;
    }
    return true;
  }

  std::int32_t target_of(std::vector<NodeId> targets, std::int32_t base) {
    close(targets);
    return base + subset_number(std::move(targets));
  }

  void add_byte_edge(int first, int last, std::int32_t target, std::size_t begin) {
    if (out_.byte_edges.size() > begin && out_.byte_edges.back().target == target &&
        out_.byte_edges.back().last + 1 == first) {
      out_.byte_edges.back().last = static_cast<std::uint8_t>(last);
      return;
    }
    out_.byte_edges.push_back({static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last), target});
  }

  /// Divides the bytes at the borders of the edges, and joins the targets of each part.
  void join_bytes(const Subset& set, std::int32_t base) {
    std::vector<const Edge*> edges;
    std::vector<int> borders;
    for (const NodeId node : set) {
      for (const Edge& edge : builder_.nodes()[static_cast<std::size_t>(node)]) {
        if (edge.is_empty || edge.rule >= 0 || !is_useful(edge)) continue;
        edges.push_back(&edge);
        borders.push_back(edge.first);
        borders.push_back(edge.last + 1);
      }
    }
    std::sort(borders.begin(), borders.end());
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    std::sort(edges.begin(), edges.end(), [](const Edge* a, const Edge* b) { return a->first < b->first; });
    const std::size_t begin = out_.byte_edges.size();
    for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
      Subset targets;
      for (const Edge* edge : edges) {
        if (edge->first > borders[i]) break;
        if (edge->last >= borders[i]) targets.push_back(edge->target);
      }
      if (targets.empty()) continue;
      std::sort(targets.begin(), targets.end());
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      add_byte_edge(borders[i], borders[i + 1] - 1, target_of(std::move(targets), base), begin);
    }
  }

  void copy_bytes(const Subset& set, std::int32_t base) {
    for (const NodeId node : set) {
      for (const Edge& edge : builder_.nodes()[static_cast<std::size_t>(node)]) {
        if (edge.is_empty || edge.rule >= 0 || !is_useful(edge)) continue;
        out_.byte_edges.push_back({edge.first, edge.last, target_of({edge.target}, base)});
      }
    }
  }

  void add_rules(const Subset& set, std::int32_t base, bool joins) {
    std::map<RuleId, std::vector<NodeId>> targets;
    for (const NodeId node : set) {
      for (const Edge& edge : builder_.nodes()[static_cast<std::size_t>(node)]) {
        if (edge.rule >= 0 && is_useful(edge)) targets[edge.rule].push_back(edge.target);
      }
    }
    for (auto& [rule, nodes] : targets) {
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      const std::int32_t number = number_of(rule);
      if (joins) {
        out_.rule_edges.push_back({number, target_of(std::move(nodes), base)});
        continue;
      }
      for (const NodeId node : nodes) out_.rule_edges.push_back({number, target_of({node}, base)});
    }
  }

  GrammarBuilder& builder_;
  const RuleFacts& facts_;
  Automaton out_;
  std::vector<std::int32_t> numbers_;  ///< of each rule of the builder; -1: not reached yet
  std::vector<RuleId> order_;
  std::map<Subset, std::int32_t> subsets_;
  std::vector<const Subset*> pending_;
  std::vector<std::uint32_t> visits_;
  std::uint32_t visit_ = 0;
};

}  // namespace

std::size_t Automaton::n_bytes() const {
  return nodes.size() * sizeof(Node) + byte_edges.size() * sizeof(ByteEdge) + rule_edges.size() * sizeof(RuleEdge) +
         rules.size() * sizeof(Rule);
}

Result<Automaton> make_automaton(GrammarBuilder& builder, RuleId root) {
  if (builder.failed()) return tl::unexpected(*builder.error());
  const RuleFacts facts(builder);
  if (!facts.rule_is_productive(root)) {
    builder.refuse(
        "allows no text at all: whatever begins can never end (an alternative that refers only to itself, or values "
        "that contradict one another)");
    return tl::unexpected(*builder.error());
  }
  Automaton made = AutomatonMaker(builder, facts).make(root);
  if (builder.failed()) return tl::unexpected(*builder.error());
  add_content_keys(made, builder.limits().salt);
  return made;
}

}  // namespace lathe::engine::grammar
