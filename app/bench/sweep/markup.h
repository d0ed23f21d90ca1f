// SPDX-License-Identifier: Apache-2.0
// Text inside XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace lathe::app {

/// With entities for what would be read as markup, inside quotes too; control characters as printable() shows them.
std::string escaped(std::string_view text);

}  // namespace lathe::app
