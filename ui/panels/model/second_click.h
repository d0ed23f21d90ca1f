// SPDX-License-Identifier: GPL-3.0-or-later
// SecondClick: the rest of a double click whose first click has put something else under the mouse.
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
  /// The first was there, on the screen. The second, whatever it meets, calls `then` and reaches nothing else. Any other
  /// press ends the waiting, and so does the time that the system gives a double click.
  void wait(const QPoint& place, std::function<void()> then);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QPoint place_;
  QDeadlineTimer until_;
  std::function<void()> then_;
};

}  // namespace lathe::ui
