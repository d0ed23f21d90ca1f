// SPDX-License-Identifier: Apache-2.0
// Escapes text for XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace lathe::app {

/// Replaces markup characters by entities, quotes included, so that the text may be an attribute value; control characters
/// appear as printable() writes them.
std::string escaped(std::string_view text);

}  // namespace lathe::app
