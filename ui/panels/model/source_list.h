// SPDX-License-Identifier: GPL-3.0-or-later
// SourceList: the list of models to choose from: an area to drop one on, and the recent and watched models, each with
// whether it fits.
#pragma once

#include <QLineEdit>
#include <QTimer>
#include <QVBoxLayout>
#include <QWidget>
#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "ui/bridge/folder_watch.h"
#include "ui/panels/model/source_row.h"
#include "ui/panels/panel.h"
#include "ui/widgets/inline_message.h"
#include "ui/widgets/section.h"

namespace lathe::ui {

/// Searches the folders on a worker when the list is shown, when the folders change, and when asked; stops searching and
/// watching while hidden.
class SourceList : public QWidget {
  Q_OBJECT
 public:
  SourceList(const PanelContext& context, QWidget* parent);
  ~SourceList() override;
  /// Searches the folders again.
  void reload();
  /// Updates the chips of the model that is loading.
  void refresh();

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  struct Facts {
    QString line, word;
    ChipState state = ChipState::quiet;
    app::FileStamp stamp = {};
    std::int64_t returned = 0;  ///< memory that the loaded model would give back. Units: bytes
  };
  /// State of one search, shared with the worker.
  struct ScanState {
    std::atomic<bool> stopped{false};
    std::atomic<std::size_t> n_folders{0};
  };
  static Facts facts_of(const app::ModelFacts& model);

  void make_filter();
  void make_foot();
  void add_folder();
  void stop_scan();
  void show_progress();
  void follow_changes(const std::vector<app::LibraryEntry>& entries);
  void show_entries(const std::vector<app::LibraryEntry>& entries);
  void look_at(const app::LibraryEntry& entry);
  void choose(const app::LibraryEntry& entry, bool load);
  void show_changed(const engine::Error& error);
  void apply_filter();

  const PanelContext& context_;
  FolderWatch* watch_;
  Section* section_ = nullptr;
  InlineMessage* message_ = nullptr;
  QLineEdit* filter_ = nullptr;
  QLabel* empty_ = nullptr;
  QPushButton* scan_ = nullptr;
  QVBoxLayout* rows_layout_ = nullptr;
  std::vector<SourceRow*> rows_;
  std::map<std::string, Facts> facts_;
  std::shared_ptr<ScanState> scan_state_;  ///< null: no search runs
  QTimer look_timer_;
};

}  // namespace lathe::ui
