// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/character_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "engine/api/utf8.h"

namespace lathe::engine::grammar {

CharacterGraph::CharacterGraph(GrammarBuilder& builder, const RegexTree& tree, bool is_search) : builder_(&builder) {
  start_ = add_node();
  if (is_search) add_any(start_);
  const std::int32_t begin = add_node();
  add(start_, {.target = begin});
  final_ = add_node();
  add(add_part(begin, tree, tree.root), {.target = final_});
  if (is_search) add_any(final_);
}

std::int32_t CharacterGraph::add_node() {
  builder_->count(1);
  if (builder_->failed() && !nodes_.empty()) return 0;
  nodes_.emplace_back();
  return static_cast<std::int32_t>(nodes_.size() - 1);
}

void CharacterGraph::add(std::int32_t from, Edge edge) { nodes_[static_cast<std::size_t>(from)].push_back(std::move(edge)); }

std::int32_t CharacterGraph::add_part(std::int32_t from, const RegexTree& tree, std::int32_t part) {
  const RegexNode& node = tree.node(part);
  if (builder_->failed()) return from;
  switch (node.kind) {
    case RegexNode::Kind::sequence:
      for (const std::int32_t one : node.parts) from = add_part(from, tree, one);
      return from;
    case RegexNode::Kind::repeat: return add_repeat(from, tree, node);
    default: break;
  }
  const std::int32_t to = add_node();
  switch (node.kind) {
    case RegexNode::Kind::set: add(from, {.kind = Kind::set, .target = to, .set = node.set}); break;
    case RegexNode::Kind::text_start: add(from, {.kind = Kind::text_start, .target = to}); break;
    case RegexNode::Kind::text_end: add(from, {.kind = Kind::text_end, .target = to}); break;
    default:
      for (const std::int32_t one : node.parts) add(add_part(from, tree, one), {.target = to});
  }
  return to;
}

std::int32_t CharacterGraph::add_repeat(std::int32_t from, const RegexTree& tree, const RegexNode& node) {
  const std::int32_t end = add_node();
  for (std::int32_t i = 0; i < node.min && !builder_->failed(); ++i) from = add_part(from, tree, node.parts.front());
  add(from, {.target = end});
  if (node.max < 0) {
    const std::int32_t loop = add_node();
    add(from, {.target = loop});
    const std::int32_t again = add_part(loop, tree, node.parts.front());
    add(again, {.target = loop});
    add(again, {.target = end});
    return end;
  }
  for (std::int32_t i = node.min; i < node.max && !builder_->failed(); ++i) {
    from = add_part(from, tree, node.parts.front());
    add(from, {.target = end});
  }
  return end;
}

NodeId CharacterGraph::append_to(NodeId from, LengthRange length, Spelling spelling) const {
  // A place is a node, the characters before it (as far as they matter), and whether the text must end here.
  using Place = std::tuple<std::int32_t, std::int32_t, bool>;
  const std::int32_t enough = length.max >= 0 ? length.max : std::max(length.min, 1);
  const NodeId end = builder_->add_node();
  std::map<Place, NodeId> known;
  std::vector<Place> todo;
  const auto node_of = [&](const Place& place) {
    const auto [found, is_new] = known.try_emplace(place, 0);
    if (is_new) {
      found->second = builder_->add_node();
      todo.push_back(place);
    }
    return found->second;
  };
  builder_->add_empty(from, node_of({start_, 0, false}));
  while (!todo.empty() && !builder_->failed()) {
    const auto [node, count, is_ended] = todo.back();
    todo.pop_back();
    const NodeId here = known[{node, count, is_ended}];
    if (node == final_ && length.holds(count)) builder_->add_empty(here, end);
    for (const Edge& edge : nodes_[static_cast<std::size_t>(node)]) {
      if (edge.kind == Kind::text_start && count > 0) continue;
      if (edge.kind != Kind::set) {
        builder_->add_empty(here, node_of({edge.target, count, is_ended || edge.kind == Kind::text_end}));
      } else if (!is_ended && (length.max < 0 || count < length.max)) {
        const NodeId next = node_of({edge.target, std::min(count + 1, enough), false});
        append_characters(*builder_, here, edge.set, next, spelling);
      }
    }
  }
  return end;
}

bool CharacterGraph::matches(std::string_view text) const {
  using Place = std::pair<std::int32_t, bool>;
  std::set<Place> places{{start_, false}};
  const auto close = [&](bool at_start) {
    std::vector<Place> todo(places.begin(), places.end());
    while (!todo.empty()) {
      const auto [node, is_ended] = todo.back();
      todo.pop_back();
      for (const Edge& edge : nodes_[static_cast<std::size_t>(node)]) {
        if (edge.kind == Kind::set || (edge.kind == Kind::text_start && !at_start)) continue;
        const Place next{edge.target, is_ended || edge.kind == Kind::text_end};
        if (places.insert(next).second) todo.push_back(next);
      }
    }
  };
  close(true);
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    at += step.size;
    std::set<Place> next;
    for (const auto& [node, is_ended] : places) {
      for (const Edge& edge : nodes_[static_cast<std::size_t>(node)]) {
        if (edge.kind == Kind::set && !is_ended && edge.set.contains(step.code)) next.insert({edge.target, false});
      }
    }
    places = std::move(next);
    close(false);
  }
  return places.contains({final_, false}) || places.contains({final_, true});
}

}  // namespace lathe::engine::grammar
