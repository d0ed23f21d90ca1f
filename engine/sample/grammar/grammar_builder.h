// SPDX-License-Identifier: Apache-2.0
// GrammarBuilder: a grammar under construction, as a graph of bytes and rules, within the limits of a compile.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"
#include "engine/sample/grammar/code_points.h"

namespace lathe::engine::grammar {

using NodeId = std::int32_t;
using RuleId = std::int32_t;
inline constexpr std::int32_t kUnbounded = -1, kMaxCount = 1 << 30;

/// Limits of one compile. They bound its memory to about 100 MB.
struct GrammarLimits {
  std::size_t max_text_bytes = 1 << 20;
  std::size_t max_nodes = 400'000;  ///< nodes and edges, before and after they are made deterministic
  int max_depth = 200;              ///< groups or schemas in one another
  std::chrono::milliseconds max_time{2000};
  std::uint64_t salt = 0;  ///< begins every hash, so that nobody can make two rules with one hash
};

/// A node's edges: bytes, rules, or nothing. A rule is what leads from its start to its final node; a counted rule is `min`
/// to `max` of another rule. After the first error, which is kept, nothing more is added.
class GrammarBuilder {
 public:
  explicit GrammarBuilder(const GrammarLimits& limits = {});

  struct Edge {
    NodeId target = 0;
    std::int32_t rule = -1;  ///< >= 0: a rule; else bytes
    std::uint8_t first = 0, last = 0;
    bool is_empty = false;
  };
  struct Rule {
    NodeId start = 0, final = 0;
    RuleId body = -1;  ///< >= 0: a counted rule
    std::int32_t min = 0, max = 0;
  };

  NodeId add_node();
  void add_empty(NodeId from, NodeId to) { add({.target = to, .is_empty = true}, from); }
  void add_bytes(NodeId from, std::uint8_t first, std::uint8_t last, NodeId to) {
    add({.target = to, .first = first, .last = last}, from);
  }
  void add_rule(NodeId from, RuleId rule, NodeId to) { add({.target = to, .rule = rule}, from); }
  RuleId make_rule();
  /// Requires: 0 <= min <= max <= kMaxCount, or max = kUnbounded.
  RuleId make_counted(RuleId body, std::int32_t min, std::int32_t max);

  // ---- paths from a node; each returns the node at its end
  NodeId append(NodeId from, std::string_view bytes);
  NodeId append(NodeId from, const CodePointSet& set);
  NodeId append_rule(NodeId from, RuleId rule);
  void append_to(NodeId from, const CodePointSet& set, NodeId to);
  /// Appends `min` to `max` (kUnbounded: any number) texts of a rule.
  NodeId append_repeat(NodeId from, RuleId rule, std::int32_t min, std::int32_t max);

  const std::vector<std::vector<Edge>>& nodes() const { return nodes_; }
  const std::vector<Rule>& rules() const { return rules_; }
  const Rule& rule(RuleId id) const { return rules_[static_cast<std::size_t>(id)]; }
  const GrammarLimits& limits() const { return limits_; }

  // ---- errors
  void refuse(std::string message, std::string where = {});
  /// Puts `path` before the place of the error. Requires: failed().
  void place_error(const std::string& path) { error_->where = path + error_->where; }
  bool failed() const { return error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }
  /// Adds to the size of the compile; refuses when it exceeds the limits.
  void count(std::size_t n);

 private:
  void add(Edge edge, NodeId from);

  const GrammarLimits limits_;
  const std::chrono::steady_clock::time_point deadline_;
  std::vector<std::vector<Edge>> nodes_;
  std::vector<Rule> rules_;
  std::size_t size_ = 0;
  std::size_t next_look_ = 0;  ///< size at which the clock is read again
  std::optional<Error> error_;
};

}  // namespace lathe::engine::grammar
