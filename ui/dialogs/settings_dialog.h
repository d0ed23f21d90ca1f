// SPDX-License-Identifier: GPL-3.0-or-later
// SettingsDialog: appearance, chat and model folders. Each control takes effect at once; there is no button to apply.
#pragma once

#include <QDialog>
#include <QListWidget>
#include <QVBoxLayout>

#include "ui/panels/panel.h"

namespace lathe::ui {

class Switch;

class SettingsDialog : public QDialog {
  Q_OBJECT
 public:
  /// Opens a dialog over `window` without blocking; raises it if it is open already.
  static void open_over(QWidget* window, const PanelContext& context);

 private:
  SettingsDialog(QWidget* parent, const PanelContext& context);
  void add_appearance(QVBoxLayout& column);
  void add_switches(QVBoxLayout& column);
  void add_data(QVBoxLayout& column);
  void add_folders(QVBoxLayout& column);
  Switch* add_switch(QVBoxLayout& column, const char* key, const QString& words);
  void apply_theme();
  void fill_folders();
  void keep_folders(const QStringList& folders);
  QStringList folders() const;

  const PanelContext& context_;
  QListWidget* list_ = nullptr;
};

}  // namespace lathe::ui
