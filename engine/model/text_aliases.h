// SPDX-License-Identifier: Apache-2.0
// Names that the text of a larger model has in place of its family's, and the defaults of its class where they differ.
#pragma once

#include <span>
#include <string_view>

namespace lathe::engine {

struct TextAlias {
  std::string_view model_type;  ///< of the text, or of a whole model that has the keys of its text at the top level
  std::string_view family;      ///< model_type of the family
  /// A JSON object with the defaults of the class: of the sizes, and of keys for which the family's class has others.
  std::string_view defaults;
  bool is_whole = false;  ///< the name of a whole model, which has the keys of its text at the top level
};

std::span<const TextAlias> text_aliases();
/// Null if the name is no alias.
const TextAlias* find_text_alias(std::string_view model_type);

}  // namespace lathe::engine
