// SPDX-License-Identifier: Apache-2.0
// Finds the variables that a chat template reads.
#pragma once

#include <string_view>

namespace lathe::app {

/// True if the template's tags contain the name as a variable: not in text, strings or comments, and not after a dot.
bool reads_variable(std::string_view source, std::string_view name);

}  // namespace lathe::app
