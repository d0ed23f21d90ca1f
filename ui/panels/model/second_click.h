// SPDX-License-Identifier: GPL-3.0-or-later
// SecondClick: catches the second click of a double click whose first click has put another widget under the mouse.
#pragma once

#include <QDeadlineTimer>
#include <QObject>
#include <QPoint>
#include <functional>

namespace lathe::ui {

class SecondClick final : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;
  /// Waits for the second click after a first one at `place`, in screen coordinates. The second click calls `then` and
  /// reaches no widget. The waiting ends with any other press, or with the system's double click interval.
  void wait(const QPoint& place, std::function<void()> then);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QPoint place_;
  QDeadlineTimer until_;
  std::function<void()> then_;
};

}  // namespace lathe::ui
