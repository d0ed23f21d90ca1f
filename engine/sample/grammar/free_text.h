// SPDX-License-Identifier: Apache-2.0
// FreeText: any text up to one of several strings.
// Source: Aho and Corasick, "Efficient string matching" (1975).
#pragma once

#include <string>
#include <vector>

#include "engine/sample/grammar/grammar_builder.h"

namespace lathe::engine::grammar {

struct FreeText {
  NodeId start = 0;            ///< no character of a string was read
  std::vector<NodeId> places;  ///< nodes at which the text may end: none of the strings is complete
  std::vector<NodeId> behind;  ///< of each string: it has just been read
};

/// Adds the nodes of a text in which the first of `strings` that is complete ends it. An empty string is refused.
FreeText add_free_text(GrammarBuilder& builder, const std::vector<std::string>& strings);

}  // namespace lathe::engine::grammar
