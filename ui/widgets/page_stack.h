// SPDX-License-Identifier: GPL-3.0-or-later
// PageStack: pages of which one is shown. Its size hint is that of the shown page; QStackedWidget takes that of the largest.
#pragma once

#include <QStackedWidget>

namespace lathe::ui {

class PageStack : public QStackedWidget {
  Q_OBJECT
 public:
  explicit PageStack(QWidget* parent);
  QSize minimumSizeHint() const override;
};

}  // namespace lathe::ui
