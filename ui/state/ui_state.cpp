// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/state/ui_state.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <algorithm>

namespace lathe::ui {
namespace {

QString translated_state(const char* text) { return QCoreApplication::translate("UiState", text); }

/// A name for the broken file that no other file has: two broken files of the same second are both kept.
QString free_name(const QString& file) {
  const QString dated =
      QStringLiteral("%1.bad-%2").arg(file, QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-hhmmss")));
  QString name = dated;
  for (int i = 2; QFileInfo::exists(name) && i < 1000; ++i) name = QStringLiteral("%1-%2").arg(dated).arg(i);
  return name;
}

/// True if the file contains control characters. QSettings escapes them when it writes, but accepts them as parts of names
/// when it reads.
bool has_noise(const QString& file) {
  QFile bytes(file);
  if (!bytes.open(QIODevice::ReadOnly)) return true;
  const QByteArray all = bytes.readAll();
  return std::any_of(all.begin(), all.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t'; });
}

/// The reason why the file cannot be used; empty: it can, or does not exist yet. QSettings accepts a folder and an empty
/// file, but this program writes neither.
QString fault_of(const QString& file) {
  const QFileInfo info(file);
  if (!info.exists()) return {};
  if (!info.isFile()) return translated_state("it is not a file");
  if (info.size() == 0) return translated_state("it is empty");
  if (!info.isReadable()) return translated_state("it cannot be read");
  const QSettings settings(file, QSettings::IniFormat);
  static_cast<void>(settings.allKeys());  // QSettings finds faults only when it reads the sections
  const bool good = settings.status() == QSettings::NoError && !has_noise(file);
  return good ? QString() : translated_state("it is not a settings file");
}

}  // namespace

UiState::UiState(const std::string& config_folder) {
  const QString folder = QString::fromStdString(config_folder);
  QDir().mkpath(folder);
  file_ = QDir(folder).filePath(QStringLiteral("window.ini"));
  if (const QString why = fault_of(file_); !why.isEmpty()) set_aside(why);
  settings_ = std::make_unique<QSettings>(file_, QSettings::IniFormat);
}

void UiState::set_aside(const QString& why) {
  const QString name = free_name(file_);
  problem_ = translated_state("The state of the window could not be used: %1 (%2). The window opens as on the first start; ")
                 .arg(why, file_);
  problem_ += QDir().rename(file_, name)
                  ? translated_state("the old file is %1.").arg(name)
                  : translated_state("the old file could not be moved away; move it to keep a new state.");
}

void UiState::flush() {
  settings_->sync();
  if (settings_->status() == QSettings::NoError || !problem_.isEmpty()) return;
  problem_ = translated_state(
                 "The state of the window cannot be saved: %1 cannot be written. Make the folder writable; otherwise the "
                 "next window opens as on the first start.")
                 .arg(file_);
}

}  // namespace lathe::ui
