// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/tray.h"

#include <QGuiApplication>

namespace lathe::ui {

Tray::Tray(QObject* parent) : QObject(parent), server_(menu_.addAction(QString())) {
  setObjectName(QStringLiteral("tray"));
  server_->setEnabled(false);
  menu_.addSeparator();
  connect(menu_.addAction(tr("Open Lathe")), &QAction::triggered, this, &Tray::open_asked);
  connect(menu_.addAction(tr("Quit")), &QAction::triggered, this, &Tray::quit_asked);
  icon_.setContextMenu(&menu_);
  connect(&icon_, &QSystemTrayIcon::activated, this, [this](QSystemTrayIcon::ActivationReason reason) {
    if (reason != QSystemTrayIcon::Context) Q_EMIT open_asked();
  });
}

void Tray::show(const QString& server) {
  const QIcon own = QGuiApplication::windowIcon();
  icon_.setIcon(own.isNull() ? QIcon(QStringLiteral(":/icons/serve.svg")) : own);
  server_->setText(tr("Server on at %1").arg(server));
  icon_.setToolTip(tr("Lathe: server on at %1").arg(server));
  icon_.show();
}

}  // namespace lathe::ui
