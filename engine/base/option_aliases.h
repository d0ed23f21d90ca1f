// SPDX-License-Identifier: Apache-2.0
// Names under which other systems know values of options. Those of `quantization` bring more with them:
// quantization_aliases.h.
#pragma once

#include <span>
#include <string_view>

namespace lathe::engine {

struct OptionAlias {
  std::string_view option;
  std::string_view name;
  std::string_view value;   ///< our name
  std::string_view source;  ///< who calls it so
};

/// THE TABLE.
std::span<const OptionAlias> option_aliases();
/// Our name for a value of that option; the value itself where nobody calls anything so.
std::string_view our_name_of(std::string_view option, std::string_view value);

}  // namespace lathe::engine
