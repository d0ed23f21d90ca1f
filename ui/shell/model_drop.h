// SPDX-License-Identifier: GPL-3.0-or-later
// ModelDrop: a file or folder that is dropped anywhere on the window, also on a field that would take its address as text.
#pragma once

#include <QDropEvent>
#include <QMimeData>
#include <QObject>
#include <QWidget>

namespace lathe::ui {

class ModelDrop : public QObject {
  Q_OBJECT
 public:
  /// `window` owns it.
  explicit ModelDrop(QWidget& window);

 Q_SIGNALS:
  void dropped(const QString& path);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  QWidget& window_;
};

}  // namespace lathe::ui
