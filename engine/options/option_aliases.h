// SPDX-License-Identifier: Apache-2.0
// Lists the names that other systems use for option values. Names for `quantization` may set further options:
// quantization_aliases.h.
#pragma once

#include <span>
#include <string_view>

namespace lathe::engine {

struct OptionAlias {
  std::string_view option;
  std::string_view name;
  std::string_view value;   ///< Lathe's name
  std::string_view source;  ///< the system that uses the name
};

/// THE TABLE of aliases.
std::span<const OptionAlias> option_aliases();
/// Lathe's name for a value of the option; the value itself if it is no alias.
std::string_view our_name_of(std::string_view option, std::string_view value);

}  // namespace lathe::engine
