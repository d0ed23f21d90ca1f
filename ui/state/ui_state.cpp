// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/state/ui_state.h"

#include <QDateTime>
#include <QDir>
#include <QFile>

namespace lathe::ui {

UiState::UiState(const std::string& config_folder) {
  const QString folder = QString::fromStdString(config_folder);
  QDir().mkpath(folder);
  const QString file = QDir(folder).filePath(QStringLiteral("window.ini"));
  settings_ = std::make_unique<QSettings>(file, QSettings::IniFormat);
  if (settings_->status() == QSettings::NoError) return;
  settings_.reset();
  QFile::rename(
      file, QStringLiteral("%1.bad-%2").arg(file, QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-hhmmss"))));
  settings_ = std::make_unique<QSettings>(file, QSettings::IniFormat);
}

}  // namespace lathe::ui
