// SPDX-License-Identifier: GPL-3.0-or-later
// FocusFollower: scrolls a widget that gets the focus into view. QScrollArea itself does so only while the focus moves
// inside of it, not where Tab enters it.
#pragma once

#include <QWidget>

namespace lathe::ui {

class FocusFollower : public QObject {
  Q_OBJECT
 public:
  /// Owns: `window` owns this.
  explicit FocusFollower(QWidget& window);

 private:
  void follow(QWidget* focus);

  QWidget& window_;
};

}  // namespace lathe::ui
