// SPDX-License-Identifier: GPL-3.0-or-later
// PageHeader: the 48 px row at the top of a page: title at the left, tools at the right, a line below.
#pragma once

#include <QHBoxLayout>
#include <QWidget>

#include "ui/theme/theme.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {

class PageHeader : public QWidget {
  Q_OBJECT
 public:
  PageHeader(const Theme& theme, const QString& title, QWidget* parent);
  void set_title(const QString& title);
  /// Adds a widget to the right of the title.
  void add_left(QWidget* widget);
  void add_right(QWidget* widget);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  QHBoxLayout* row_;
  QLabel* title_;
  int n_left_ = 1;
};

}  // namespace lathe::ui
