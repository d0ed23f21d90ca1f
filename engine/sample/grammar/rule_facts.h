// SPDX-License-Identifier: Apache-2.0
// RuleFacts: which nodes of a grammar lead to the end of their rule, and which rules may be empty.
#pragma once

#include <vector>

#include "engine/sample/grammar/grammar_builder.h"

namespace lathe::engine::grammar {

/// A node is productive if some text leads from it to its rule's final node. A rule is nullable if the empty text does.
class RuleFacts {
 public:
  explicit RuleFacts(const GrammarBuilder& builder);

  bool is_productive(NodeId node) const { return productive_[static_cast<std::size_t>(node)]; }
  bool rule_is_productive(RuleId rule) const { return rule_productive_[static_cast<std::size_t>(rule)]; }
  bool rule_is_nullable(RuleId rule) const { return rule_nullable_[static_cast<std::size_t>(rule)]; }

 private:
  std::vector<bool> productive_, rule_productive_, rule_nullable_;
};

}  // namespace lathe::engine::grammar
