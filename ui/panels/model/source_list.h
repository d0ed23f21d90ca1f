// SPDX-License-Identifier: GPL-3.0-or-later
// SourceList: where models come from: a place to drop a folder, and the recent and watched ones with whether they fit.
#pragma once

#include <QAbstractButton>
#include <QVBoxLayout>
#include <QWidget>
#include <map>
#include <optional>
#include <vector>

#include "ui/panels/panel.h"
#include "ui/widgets/chip.h"

namespace lathe::ui {

/// One model of the list. Its headers are read when it is first shown.
class SourceRow : public QAbstractButton {
  Q_OBJECT
 public:
  SourceRow(const Theme& theme, const app::LibraryEntry& entry, QWidget* parent);
  const std::string& path() const { return path_; }
  void set_facts(const QString& line, ChipState state, const QString& word);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  std::string path_;
  QString line_;
  Chip* chip_;
};

class SourceList : public QWidget {
  Q_OBJECT
 public:
  SourceList(const PanelContext& context, QWidget* parent);
  /// Reads the library again.
  void reload();
  /// The chips of what is loading.
  void refresh();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  struct Facts {
    QString line, word;
    ChipState state = ChipState::quiet;
  };
  static Facts look_at(const std::string& path);
  void show_entries(const std::vector<app::LibraryEntry>& entries);

  const PanelContext& context_;
  QVBoxLayout* rows_layout_;
  std::vector<SourceRow*> rows_;
  std::map<std::string, Facts> facts_;
  std::uint64_t reading_ = 0;
};

}  // namespace lathe::ui
