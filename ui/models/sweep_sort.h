// SPDX-License-Identifier: GPL-3.0-or-later
// SweepSort: the rows of a SweepTable in the order of a column; those that have nothing in it are the last, up and down.
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
