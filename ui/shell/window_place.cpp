// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/window_place.h"

#include <QGuiApplication>
#include <QScreen>

#include "ui/shell/screens.h"

namespace lathe::ui {

bool restore_place(QMainWindow& window, const UiState& state, const QSize& designed) {
  const QByteArray geometry = state.get(QStringLiteral("window/geometry")).toByteArray();
  if (geometry.isEmpty() || !window.restoreGeometry(geometry)) {
    const FirstPlace first = first_place(designed, QGuiApplication::primaryScreen()->availableGeometry());
    window.setGeometry(first.rect);
    if (first.maximised) window.setWindowState(Qt::WindowMaximized);
    return false;
  }
  // restoreGeometry() moves a window without a frame down by the height of a title bar.
  const QRect rect = state.get(QStringLiteral("window/rect")).toRect();
  const bool is_placed = (window.windowState() & (Qt::WindowMaximized | Qt::WindowFullScreen)) != 0;
  if (has_same_screens(state) && rect.isValid() && !is_placed) window.setGeometry(rect);
  return true;
}

void keep_place(const QMainWindow& window, UiState& state) {
  state.set(QStringLiteral("window/geometry"), window.saveGeometry());
  state.set(QStringLiteral("window/rect"), window.geometry());
  state.set(QStringLiteral("window/screens"), screens_now());
}

bool has_same_screens(const UiState& state) {
  return state.get(QStringLiteral("window/screens")).toString() == screens_now();
}

void bring_onto_screens(QMainWindow& window, bool same_screens) {
  bring_onto_screen(window, same_screens);
  for (QWidget* child : window.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
    const bool floats = child->isWindow() && (child->inherits("QDockWidget") || child->inherits("QDockWidgetGroupWindow"));
    if (floats) bring_onto_screen(*child, same_screens);
  }
}

}  // namespace lathe::ui
