// SPDX-License-Identifier: GPL-3.0-or-later
// TableDelegate: rows of every table: no grid, a hairline under each, the selected one on tint with an accent bar.
#pragma once

#include <QStyledItemDelegate>

#include "ui/theme/theme.h"

class QTableView;

namespace lathe::ui {

/// Left of the first column and right of the last, by where the table lies.
inline constexpr int kDockMargin = 14, kPageMargin = 20;

class TableDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  /// `margin`: as the header has it.
  TableDelegate(const Theme& theme, QObject* parent, int margin = kDockMargin);
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  /// Units: pixels in which nothing of the cell is cut.
  int width_for(const QModelIndex& index) const;

 protected:
  /// The words of a cell, inside `area`. Base: the display role with equal digits, elided.
  virtual void paint_content(QPainter& painter, const QRectF& area, const QModelIndex& index) const;
  /// Units: pixels of the area in which paint_content() cuts nothing. Base: of the display role.
  virtual qreal content_width(const QModelIndex& index) const;
  /// Ground, hairline and mark of the row.
  void paint_ground(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const;
  const Theme& theme() const { return theme_; }

 private:
  int left_of(const QModelIndex& index) const;
  int right_of(const QModelIndex& index) const;

  const Theme& theme_;
  const int margin_;
};

/// Heights, selection and headers that every table of the window has.
void shape_table(QTableView& table, const Theme& theme, int margin = kDockMargin);

}  // namespace lathe::ui
