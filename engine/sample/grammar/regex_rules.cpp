// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/regex_rules.h"

#include <algorithm>

#include "engine/sample/grammar/character_graph.h"

namespace lathe::engine::grammar {
namespace {

using Kind = RegexNode::Kind;

/// Copies of a repeated part, times its size, up to which a count is written out.
constexpr std::int64_t kMostCopies = 64;

std::int64_t size_of(const RegexTree& tree, std::int32_t part) {
  const RegexNode& node = tree.node(part);
  std::int64_t size = 1;
  for (const std::int32_t one : node.parts) size = std::min<std::int64_t>(size + size_of(tree, one), kMaxCount);
  if (node.kind == Kind::repeat) size *= std::max<std::int64_t>(1, std::max(node.min, node.max));
  return std::min<std::int64_t>(size, kMaxCount);
}

bool is_anchor(const RegexNode& node) { return node.kind == Kind::text_start || node.kind == Kind::text_end; }

/// Appends an expression without anchors; long counts become counted rules.
class RegexAppender {
 public:
  RegexAppender(GrammarBuilder& builder, const RegexTree& tree, Spelling spelling)
      : builder_(builder), tree_(tree), spelling_(spelling) {}

  NodeId append(NodeId from, std::int32_t part) {
    const RegexNode& node = tree_.node(part);
    if (builder_.failed()) return from;
    switch (node.kind) {
      case Kind::set: {
        const NodeId to = builder_.add_node();
        append_characters(builder_, from, node.set, to, spelling_);
        return to;
      }
      case Kind::choice: {
        const NodeId to = builder_.add_node();
        for (const std::int32_t one : node.parts) builder_.add_empty(append(from, one), to);
        return to;
      }
      case Kind::repeat: return append_repeat(from, node);
      default:
        for (const std::int32_t one : node.parts) from = append(from, one);
        return from;
    }
  }

 private:
  NodeId append_repeat(NodeId from, const RegexNode& node) {
    const std::int32_t part = node.parts.front();
    const std::int64_t copies = std::max(node.min, node.max);
    if (copies * size_of(tree_, part) > kMostCopies) {
      from = append_counted(from, part, node.min, node.max < 0 ? node.min : node.max);
      return node.max < 0 ? append_loop(from, part) : from;
    }
    for (std::int32_t i = 0; i < node.min; ++i) from = append(from, part);
    if (node.max < 0) return append_loop(from, part);
    const NodeId end = builder_.add_node();
    builder_.add_empty(from, end);
    for (std::int32_t i = node.min; i < node.max; ++i) {
      from = append(from, part);
      builder_.add_empty(from, end);
    }
    return end;
  }

  NodeId append_counted(NodeId from, std::int32_t part, std::int32_t min, std::int32_t max) {
    const RuleId body = builder_.make_rule();
    builder_.add_empty(append(builder_.rule(body).start, part), builder_.rule(body).final);
    return builder_.append_rule(from, builder_.make_counted(body, min, max));
  }

  NodeId append_loop(NodeId from, std::int32_t part) {
    const NodeId loop = builder_.add_node();
    builder_.add_empty(from, loop);
    builder_.add_empty(append(loop, part), loop);
    return loop;
  }

  GrammarBuilder& builder_;
  const RegexTree& tree_;
  const Spelling spelling_;
};

/// Takes the anchors off the ends of the expression's sequence. What is left has none, or the graph must read it.
struct TakenAnchors {
  bool at_start = false, at_end = false, are_others = false;
};

TakenAnchors take_anchors(RegexTree& tree) {
  TakenAnchors taken;
  RegexNode* root = &tree.nodes[static_cast<std::size_t>(tree.root)];
  if (root->kind == Kind::sequence) {
    auto& parts = root->parts;
    if (!parts.empty() && tree.node(parts.front()).kind == Kind::text_start) {
      parts.erase(parts.begin());
      taken.at_start = true;
    }
    if (!parts.empty() && tree.node(parts.back()).kind == Kind::text_end) {
      parts.pop_back();
      taken.at_end = true;
    }
  }
  const auto n_anchors = std::count_if(tree.nodes.begin(), tree.nodes.end(), is_anchor);
  taken.are_others = n_anchors > (taken.at_start ? 1 : 0) + (taken.at_end ? 1 : 0);
  return taken;
}

NodeId append_any(GrammarBuilder& builder, NodeId from, Spelling spelling) {
  const NodeId loop = builder.add_node();
  builder.add_empty(from, loop);
  append_characters(builder, loop, CodePointSet::all(), loop, spelling);
  return loop;
}

NodeId append_tree(GrammarBuilder& builder, NodeId from, RegexTree tree, LengthRange length, Spelling spelling,
                   bool is_search) {
  const RegexTree whole = tree;
  const TakenAnchors anchors = take_anchors(tree);
  if (!length.is_free() || anchors.are_others) {
    return CharacterGraph(builder, whole, is_search).append_to(from, length, spelling);
  }
  if (is_search && !anchors.at_start) from = append_any(builder, from, spelling);
  from = RegexAppender(builder, tree, spelling).append(from, tree.root);
  return is_search && !anchors.at_end ? append_any(builder, from, spelling) : from;
}

}  // namespace

NodeId append_regex(GrammarBuilder& builder, NodeId from, std::string_view pattern, Spelling spelling) {
  auto tree = parse_regex(pattern, builder.limits().max_depth);
  if (!tree) {
    builder.refuse(tree.error().message);
    return from;
  }
  return append_tree(builder, from, std::move(*tree), {}, spelling, false);
}

NodeId append_pattern(GrammarBuilder& builder, NodeId from, std::string_view pattern, LengthRange length,
                      Spelling spelling) {
  auto tree = parse_regex(pattern, builder.limits().max_depth);
  if (!tree) {
    builder.refuse(tree.error().message);
    return from;
  }
  return append_tree(builder, from, std::move(*tree), length, spelling, true);
}

Result<bool> pattern_matches(std::string_view pattern, std::string_view text) {
  GrammarBuilder counter;
  LATHE_TRY(const RegexTree tree, parse_regex(pattern, counter.limits().max_depth));
  const CharacterGraph graph(counter, tree, true);
  if (counter.failed()) return tl::unexpected(*counter.error());
  return graph.matches(text);
}

}  // namespace lathe::engine::grammar
