// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/focus_follower.h"

#include <QApplication>
#include <QScrollArea>

namespace lathe::ui {

FocusFollower::FocusFollower(QWidget& window) : QObject(&window), window_(window) {
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* focus) { follow(focus); });
}

/// Leaves what shows a part as it is: a click must not move what it hits.
void FocusFollower::follow(QWidget* focus) {
  if (focus == nullptr || !window_.isAncestorOf(focus) || !focus->visibleRegion().isEmpty()) return;
  for (QWidget* parent = focus->parentWidget(); parent != nullptr && parent != &window_; parent = parent->parentWidget())
    if (auto* area = qobject_cast<QScrollArea*>(parent)) area->ensureWidgetVisible(focus);
}

}  // namespace lathe::ui
