// SPDX-License-Identifier: GPL-3.0-or-later
// TableDelegate: paints the rows of every table: no grid, a hairline under each row, the selected row on tint with an accent
// bar.
#pragma once

#include <QStyledItemDelegate>

#include "ui/theme/theme.h"

class QTableView;

namespace lathe::ui {

/// Margins to the left of the first column and to the right of the last, for a table in a dock and on a page.
inline constexpr int kDockMargin = 14, kPageMargin = 20;

class TableDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  /// `margin`: the same as that of the header.
  TableDelegate(const Theme& theme, QObject* parent, int margin = kDockMargin);
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  /// Width with which nothing of the cell is cut off. Units: pixels.
  int width_for(const QModelIndex& index) const;

 protected:
  /// Paints the text of a cell inside `area`. Base: the display role with equal digits, elided.
  virtual void paint_content(QPainter& painter, const QRectF& area, const QModelIndex& index) const;
  /// Width of the area in which paint_content() cuts nothing off. Base: that of the display role. Units: pixels.
  virtual qreal content_width(const QModelIndex& index) const;
  /// Paints ground, hairline and mark of the row.
  void paint_ground(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const;
  const Theme& theme() const { return theme_; }

 private:
  int left_of(const QModelIndex& index) const;
  int right_of(const QModelIndex& index) const;

  const Theme& theme_;
  const int margin_;
};

/// Sets the heights, the selection and the header that every table of the window has.
void shape_table(QTableView& table, const Theme& theme, int margin = kDockMargin);

}  // namespace lathe::ui
