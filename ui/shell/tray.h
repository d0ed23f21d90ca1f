// SPDX-License-Identifier: GPL-3.0-or-later
// Tray: an icon in the system's tray while the window is hidden and the server goes on.
#pragma once

#include <QMenu>
#include <QSystemTrayIcon>

namespace lathe::ui {

class Tray : public QObject {
  Q_OBJECT
 public:
  explicit Tray(QObject* parent);
  static bool is_available() { return QSystemTrayIcon::isSystemTrayAvailable(); }
  /// `server`: address of the server, which the menu shows.
  void show(const QString& server);
  void hide() { icon_.hide(); }

 Q_SIGNALS:
  void open_asked();
  void quit_asked();

 private:
  QMenu menu_;
  QAction* server_;
  QSystemTrayIcon icon_;
};

}  // namespace lathe::ui
