// SPDX-License-Identifier: Apache-2.0
// Variables that a chat template reads.
#pragma once

#include <string_view>

namespace lathe::app::openai {

/// Whether the name is a variable inside the template's tags: not in its texts, strings or comments, and not behind a
/// dot.
bool reads_variable(std::string_view source, std::string_view name);

}  // namespace lathe::app::openai
