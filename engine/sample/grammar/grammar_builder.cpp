// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/grammar_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe::engine::grammar {
namespace {

constexpr std::size_t kLookEvery = 4096;

}  // namespace

GrammarBuilder::GrammarBuilder(const GrammarLimits& limits)
    : limits_(limits), deadline_(std::chrono::steady_clock::now() + limits.max_time) {}

void GrammarBuilder::refuse(std::string message, std::string where) {
  if (!error_) error_ = Error{ErrorCode::invalid_argument, std::move(message), std::move(where)};
}

void GrammarBuilder::count(std::size_t n) {
  size_ += n;
  if (size_ > limits_.max_nodes) {
    refuse(fmt::format("takes more than {} nodes; use fewer or smaller counts, values and alternatives", limits_.max_nodes));
  }
  if (size_ < next_look_) return;
  next_look_ = size_ + kLookEvery;
  if (std::chrono::steady_clock::now() > deadline_) {
    refuse(fmt::format("takes longer than {} ms to compile; use fewer or smaller counts, values and alternatives",
                       limits_.max_time.count()));
  }
}

NodeId GrammarBuilder::add_node() {
  count(1);
  if (failed() && !nodes_.empty()) return 0;
  nodes_.emplace_back();
  return static_cast<NodeId>(nodes_.size() - 1);
}

void GrammarBuilder::add(Edge edge, NodeId from) {
  count(1);
  if (!failed()) nodes_[static_cast<std::size_t>(from)].push_back(edge);
}

RuleId GrammarBuilder::make_rule() {
  const NodeId start = add_node(), final = add_node();
  rules_.push_back({.start = start, .final = final});
  return static_cast<RuleId>(rules_.size() - 1);
}

RuleId GrammarBuilder::make_counted(RuleId body, std::int32_t min, std::int32_t max) {
  const NodeId start = add_node();
  rules_.push_back({.start = start, .final = start, .body = body, .min = min, .max = max});
  return static_cast<RuleId>(rules_.size() - 1);
}

NodeId GrammarBuilder::append(NodeId from, std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    const NodeId to = add_node();
    add_bytes(from, byte, byte, to);
    from = to;
  }
  return from;
}

NodeId GrammarBuilder::append(NodeId from, const CodePointSet& set) {
  const NodeId to = add_node();
  append_to(from, set, to);
  return to;
}

void GrammarBuilder::append_to(NodeId from, const CodePointSet& set, NodeId to) {
  for (const Utf8Sequence& sequence : utf8_sequences(set)) {
    NodeId at = from;
    for (int i = 0; i < sequence.n_bytes; ++i) {
      const auto byte = static_cast<std::size_t>(i);
      const NodeId next = i + 1 == sequence.n_bytes ? to : add_node();
      add_bytes(at, sequence.first[byte], sequence.last[byte], next);
      at = next;
    }
  }
}

NodeId GrammarBuilder::append_rule(NodeId from, RuleId rule) {
  const NodeId to = add_node();
  add_rule(from, rule, to);
  return to;
}

NodeId GrammarBuilder::append_repeat(NodeId from, RuleId rule, std::int32_t min, std::int32_t max) {
  constexpr std::int32_t kWrittenOut = 4;
  if (std::max(min, max) > kWrittenOut) {
    from = append_rule(from, make_counted(rule, min, max < 0 ? min : max));
  } else {
    for (std::int32_t i = 0; i < min; ++i) from = append_rule(from, rule);
    const NodeId end = max < 0 ? from : add_node();
    for (std::int32_t i = min; i < max; ++i) {
      add_empty(from, end);
      from = append_rule(from, rule);
    }
    if (end != from) add_empty(from, end);
    from = end;
  }
  if (max >= 0) return from;
  const NodeId loop = add_node();
  add_empty(from, loop);
  add_rule(loop, rule, loop);
  return loop;
}

}  // namespace lathe::engine::grammar
