// SPDX-License-Identifier: GPL-3.0-or-later
// UiState: geometry, docks, and the rest that the window remembers, in window.ini in the config folder.
#pragma once

#include <QSettings>
#include <QVariant>
#include <memory>
#include <string>

namespace lathe::ui {

/// Replaces its file atomically (by QSettings), so a kill leaves the old state or the new one. A broken file is renamed to
/// window.ini.bad-<date>.
class UiState {
 public:
  explicit UiState(const std::string& config_folder);
  QVariant get(const QString& key, const QVariant& fallback = {}) const { return settings_->value(key, fallback); }
  /// Sets a value; QSettings writes it within moments, flush() at once.
  void set(const QString& key, const QVariant& value) { settings_->setValue(key, value); }
  void flush();
  /// The first problem with the file, and its consequence; empty: none.
  const QString& problem() const { return problem_; }

 private:
  void set_aside(const QString& why);

  QString file_, problem_;
  std::unique_ptr<QSettings> settings_;
};

}  // namespace lathe::ui
