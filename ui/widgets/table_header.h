// SPDX-License-Identifier: GPL-3.0-or-later
// TableHeader: the header of every table: each title over its column, a chevron at the sorted column, and "…" where a column
// is too narrow.
#pragma once

#include <QHeaderView>

#include "ui/theme/theme.h"

namespace lathe::ui {

class TableHeader : public QHeaderView {
  Q_OBJECT
 public:
  /// `margin`: space to the left of the first column and to the right of the last.
  TableHeader(const Theme& theme, int margin, QWidget* parent);
  /// Width with which nothing of the heading is cut off, sorted or not.
  int width_for(int section) const;

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int section) const override;
  QSize sectionSizeFromContents(int section) const override;

 private:
  bool is_sorted_by(int section) const;

  int left_of(int section) const;
  int right_of(int section) const;

  const Theme& theme_;
  const int margin_;
};

}  // namespace lathe::ui
