// SPDX-License-Identifier: Apache-2.0
// Formats rows of cells as aligned columns; cells that do not fit are wrapped.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lathe::app {

using TableRow = std::vector<std::string>;

/// Draws a line under the first `n_head` rows. Every line ends with '
/// '.
std::string terminal_table(const std::vector<TableRow>& rows, std::size_t n_head, std::size_t width);

}  // namespace lathe::app
