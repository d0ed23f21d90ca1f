// SPDX-License-Identifier: GPL-3.0-or-later
// Table columns: widths of columns computed from their contents.
#pragma once

#include <QTableView>
#include <vector>

namespace lathe::ui {

/// Gives each column the width that its heading and its widest cell need, or its width in `at_least` if that is larger and
/// all columns then fit. A table that is too wide is scrolled, and no number is cut off or overlaps the next. Units: pixels.
/// Requires: shape_table(), a TableDelegate, a width for each column.
void fit_columns(QTableView& table, const std::vector<int>& at_least);

}  // namespace lathe::ui
