// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/page_stack.h"

namespace lathe::ui {

PageStack::PageStack(QWidget* parent) : QStackedWidget(parent) {
  connect(this, &QStackedWidget::currentChanged, this, &QWidget::updateGeometry);
}

QSize PageStack::minimumSizeHint() const {
  return currentWidget() != nullptr ? currentWidget()->minimumSizeHint() : QStackedWidget::minimumSizeHint();
}

}  // namespace lathe::ui
