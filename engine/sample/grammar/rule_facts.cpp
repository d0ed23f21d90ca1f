// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/rule_facts.h"

namespace lathe::engine::grammar {
namespace {

/// Spreads a property from the final nodes backwards: a node has it if an edge does that leads to a node with it. Time is
/// linear in the edges.
class Backwards {
 public:
  /// `with_bytes`: edges of bytes spread it too, as they do not where only the empty text counts.
  Backwards(const GrammarBuilder& builder, bool with_bytes)
      : builder_(builder),
        nodes_(builder.nodes().size()),
        rules_(builder.rules().size()),
        into_(nodes_.size()),
        uses_(rules_.size()),
        starts_(nodes_.size()),
        counted_(rules_.size()) {
    index(with_bytes);
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const GrammarBuilder::Rule& rule = builder_.rules()[i];
      if (rule.body < 0) mark_node(rule.final);
      else if (rule.min == 0) mark_rule(static_cast<RuleId>(i));
    }
    while (!pending_.empty()) {
      const NodeId node = pending_.back();
      pending_.pop_back();
      spread(node);
    }
  }

  std::vector<bool> nodes() { return std::move(nodes_); }
  std::vector<bool> rules() { return std::move(rules_); }

 private:
  struct Use {
    NodeId from = 0, to = 0;
  };
  struct Arrival {
    NodeId from = 0;
    RuleId rule = -1;
  };

  void index(bool with_bytes) {
    for (std::size_t from = 0; from < nodes_.size(); ++from) {
      for (const GrammarBuilder::Edge& edge : builder_.nodes()[from]) {
        if (edge.rule < 0 && !edge.is_empty && !with_bytes) continue;
        const auto node = static_cast<NodeId>(from);
        into_[static_cast<std::size_t>(edge.target)].push_back({node, edge.rule});
        if (edge.rule >= 0) uses_[static_cast<std::size_t>(edge.rule)].push_back({node, edge.target});
      }
    }
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const GrammarBuilder::Rule& rule = builder_.rules()[i];
      if (rule.body < 0) starts_[static_cast<std::size_t>(rule.start)].push_back(static_cast<RuleId>(i));
      else counted_[static_cast<std::size_t>(rule.body)].push_back(static_cast<RuleId>(i));
    }
  }

  void mark_node(NodeId node) {
    if (nodes_[static_cast<std::size_t>(node)]) return;
    nodes_[static_cast<std::size_t>(node)] = true;
    pending_.push_back(node);
  }

  void mark_rule(RuleId first) {
    std::vector<RuleId> marked{first};
    while (!marked.empty()) {
      const auto rule = static_cast<std::size_t>(marked.back());
      marked.pop_back();
      if (rules_[rule]) continue;
      rules_[rule] = true;
      for (const Use& use : uses_[rule]) {
        if (nodes_[static_cast<std::size_t>(use.to)]) mark_node(use.from);
      }
      marked.insert(marked.end(), counted_[rule].begin(), counted_[rule].end());
    }
  }

  void spread(NodeId node) {
    for (const Arrival& arrival : into_[static_cast<std::size_t>(node)]) {
      if (arrival.rule < 0 || rules_[static_cast<std::size_t>(arrival.rule)]) mark_node(arrival.from);
    }
    for (const RuleId rule : starts_[static_cast<std::size_t>(node)]) mark_rule(rule);
  }

  const GrammarBuilder& builder_;
  std::vector<bool> nodes_, rules_;
  std::vector<std::vector<Arrival>> into_;
  std::vector<std::vector<Use>> uses_;
  std::vector<std::vector<RuleId>> starts_, counted_;
  std::vector<NodeId> pending_;
};

}  // namespace

RuleFacts::RuleFacts(const GrammarBuilder& builder) {
  Backwards all(builder, true);
  productive_ = all.nodes();
  rule_productive_ = all.rules();
  rule_nullable_ = Backwards(builder, false).rules();
}

}  // namespace lathe::engine::grammar
