// SPDX-License-Identifier: GPL-3.0-or-later
// UiState: geometry, docks, and what else the window remembers by itself, in window.ini under the config folder.
#pragma once

#include <QSettings>
#include <QVariant>
#include <memory>
#include <string>

namespace lathe::ui {

/// QSettings replaces its file atomically, so a kill leaves the old state or the new one. A broken file is set aside as
/// window.ini.bad-<date>.
class UiState {
 public:
  explicit UiState(const std::string& config_folder);
  QVariant get(const QString& key, const QVariant& fallback = {}) const { return settings_->value(key, fallback); }
  /// Written by itself within moments, or at once by flush().
  void set(const QString& key, const QVariant& value) { settings_->setValue(key, value); }
  void flush();
  /// The first thing that went wrong with the file, and what holds now; empty: nothing.
  const QString& problem() const { return problem_; }

 private:
  void set_aside(const QString& why);

  QString file_, problem_;
  std::unique_ptr<QSettings> settings_;
};

}  // namespace lathe::ui
