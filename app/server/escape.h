// SPDX-License-Identifier: Apache-2.0
// Text in the forms that protocols of the server have for it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lathe::app {

/// A Prometheus label value: printable() with backslash and quote as the text format has them.
std::string label_value(std::string_view text);
/// Code points of a UTF-8 text: the unit of OpenAI's text_offset.
std::size_t count_code_points(std::string_view text);

}  // namespace lathe::app
