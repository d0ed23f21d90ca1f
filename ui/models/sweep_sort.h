// SPDX-License-Identifier: GPL-3.0-or-later
// SweepSort: the rows of a SweepTable sorted by a column; rows without a value in it are last, ascending and descending.
#pragma once

#include <QSortFilterProxyModel>

namespace lathe::ui {

class SweepSort : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

 protected:
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

}  // namespace lathe::ui
