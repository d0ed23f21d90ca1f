// SPDX-License-Identifier: GPL-3.0-or-later
// TableHeader: headings of every table: words over their column, a chevron where it is sorted, dots where it is too narrow.
#pragma once

#include <QHeaderView>

#include "ui/theme/theme.h"

namespace lathe::ui {

class TableHeader : public QHeaderView {
  Q_OBJECT
 public:
  /// `margin`: left of the first column and right of the last.
  TableHeader(const Theme& theme, int margin, QWidget* parent);
  /// Width in which nothing of the heading is cut, sorted or not.
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
