// SPDX-License-Identifier: GPL-3.0-or-later
// Widths of columns from what stands in them.
#pragma once

#include <QTableView>
#include <vector>

namespace lathe::ui {

/// Gives each column the width that its heading and its widest cell need, or what it is to have at least, if there is room
/// for that in all of them: a table that is too wide is scrolled, and no number is cut or runs into the next. Units: pixels.
/// Requires: shape_table(), a TableDelegate, a width for each column.
void fit_columns(QTableView& table, const std::vector<int>& at_least);

}  // namespace lathe::ui
