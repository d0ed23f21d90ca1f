// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/sweep_sort.h"

namespace lathe::ui {

bool SweepSort::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const bool has_left = left.data(sortRole()).isValid(), has_right = right.data(sortRole()).isValid();
  if (has_left && has_right) return QSortFilterProxyModel::lessThan(left, right);
  // In descending order Qt reverses the answer.
  return has_left != has_right && has_left == (sortOrder() == Qt::AscendingOrder);
}

}  // namespace lathe::ui
