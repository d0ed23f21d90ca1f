// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/table_columns.h"

#include <algorithm>
#include <numeric>

#include "ui/widgets/table_delegate.h"
#include "ui/widgets/table_header.h"

namespace lathe::ui {
namespace {

int needed_width(const QTableView& table, int column) {
  const auto* delegate = static_cast<const TableDelegate*>(table.itemDelegate());
  int width = static_cast<const TableHeader*>(table.horizontalHeader())->width_for(column);
  for (int row = 0; row < table.model()->rowCount(); ++row)
    width = std::max(width, delegate->width_for(table.model()->index(row, column)));
  return width;
}

}  // namespace

void fit_columns(QTableView& table, const std::vector<int>& at_least) {
  std::vector<int> needed, wanted;
  for (std::size_t i = 0; i < at_least.size(); ++i) {
    needed.push_back(needed_width(table, static_cast<int>(i)));
    wanted.push_back(std::max(needed.back(), at_least[i]));
  }
  const bool has_room = std::accumulate(wanted.begin(), wanted.end(), 0) <= table.viewport()->width();
  for (std::size_t i = 0; i < at_least.size(); ++i) {
    table.setColumnWidth(static_cast<int>(i), has_room ? wanted[i] : needed[i]);
  }
}

}  // namespace lathe::ui
