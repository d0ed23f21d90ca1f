// SPDX-License-Identifier: Apache-2.0
// Choices of options in the text of a page, so that the manual names what the tables of the program have.
#pragma once

#include <string>
#include <string_view>

namespace lathe::app {

/// The text with the choices of an option in place of each "{choices of --policy}": "`paged`, `static`, `dynamic`". A name
/// that is no option, or an option without choices, stays as it is.
std::string with_choices(std::string_view text);

}  // namespace lathe::app
