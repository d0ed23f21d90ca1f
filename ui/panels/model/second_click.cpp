// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/model/second_click.h"

#include <QApplication>
#include <QMouseEvent>
#include <QStyleHints>
#include <utility>

namespace lathe::ui {

void SecondClick::wait(const QPoint& place, std::function<void()> then) {
  place_ = place;
  then_ = std::move(then);
  until_ = QDeadlineTimer(QApplication::doubleClickInterval());
  qApp->installEventFilter(this);
}

bool SecondClick::eventFilter(QObject* watched, QEvent* event) {
  const bool is_press = event->type() == QEvent::MouseButtonPress || event->type() == QEvent::MouseButtonDblClick;
  if (!is_press || !watched->isWidgetType()) return false;
  qApp->removeEventFilter(this);
  const auto* const press = static_cast<const QMouseEvent*>(event);
  const int apart = (press->globalPosition().toPoint() - place_).manhattanLength();
  if (press->button() != Qt::LeftButton || until_.hasExpired() ||
      apart > QGuiApplication::styleHints()->mouseDoubleClickDistance()) {
    return false;
  }
  const std::function<void()> then = std::exchange(then_, {});  // taken out first, since `then` may delete this
  then();
  return true;
}

}  // namespace lathe::ui
