// SPDX-License-Identifier: GPL-3.0-or-later
// MainWindow: the frame: rail, pages, docks, menus, status bar, and the work done when it opens and closes.
#pragma once

#include <QMainWindow>
#include <QTimer>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/api/workbench.h"
#include "ui/bridge/background.h"
#include "ui/bridge/bridge.h"
#include "ui/manual/manual_window.h"
#include "ui/models/conversation.h"
#include "ui/models/load_choice.h"
#include "ui/models/reply_writer.h"
#include "ui/models/sampling_choice.h"
#include "ui/panels/panel.h"
#include "ui/shell/command_palette.h"
#include "ui/shell/dock_layout.h"
#include "ui/shell/page_area.h"
#include "ui/shell/quit_question.h"
#include "ui/shell/rail.h"
#include "ui/shell/status_bar.h"
#include "ui/shell/tray.h"
#include "ui/state/navigator.h"
#include "ui/state/ui_state.h"

namespace lathe::ui {

/// Thread: GUI. Requires: `workbench` and `theme` outlive the window.
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  MainWindow(app::Workbench& workbench, Theme& theme);
  ~MainWindow() override;

  /// Loads `path`; empty: the model that was loaded last (at the first start: the bundled model). `options` of the engine,
  /// name and value, override those saved for the model.
  void start(const std::string& path, const std::vector<std::pair<std::string, std::string>>& options = {});
  void show_page(const QString& id);
  QString page() const;

  Actions& actions() { return actions_; }
  Bridge& bridge() { return bridge_; }
  DockLayout& docks() { return *docks_; }
  const PanelContext& context() const { return context_; }
  /// False: closing, reloading and unloading end running work without a question.
  void set_ask_before_closing(bool ask) { navigator_.set_asks(ask); }
  /// Brings the window to the front, also from the tray, and opens `model` in it as start() does; empty: none.
  void open(const std::string& model, const std::vector<std::pair<std::string, std::string>>& options);
  /// Closes the window with every dialog over it and leaves the event loop: the system wants the program to end.
  void close_without_asking();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void moveEvent(QMoveEvent* event) override;
  /// Opens the manual at the control with the focus on F1; the menu opens it without a control.
  bool eventFilter(QObject* watched, QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void make_rail_and_pages();
  void make_corner();
  void connect_drops();
  void connect_actions();
  void connect_layout_actions();
  void connect_undo();
  void update_facts();
  void update_title();
  void update_dock_toggles();
  void update_rail_dots();
  void show_panel(const QString& id);
  void apply_layout(const QString& name);
  void restore_state();
  void keep_state();
  void keep_everything();
  void tell_problem();
  void choose_theme(const QString& name);
  void open_model_dialog();
  /// Chooses the model of a file or folder that was opened or dropped.
  void choose_file(const QString& file);
  void open_manual(const ManualTarget& target);
  RunningWork running_work() const;
  bool may_close();
  void quit_when_finished();
  void go_to_tray();

  app::Workbench& workbench_;
  Theme& theme_;
  Background background_;
  UiState state_;
  Actions actions_;
  Navigator navigator_;
  Bridge bridge_;
  SamplingChoice sampling_;
  LoadChoice load_;
  Conversation conversation_;
  ReplyWriter writer_;
  QUndoStack undo_;
  PanelContext context_;
  PageArea* pages_ = nullptr;
  Rail* rail_ = nullptr;
  DockLayout* docks_ = nullptr;
  CommandPalette* palette_ = nullptr;
  ManualWindow* manual_ = nullptr;  ///< null until the manual is first opened
  QToolButton* palette_field_ = nullptr;
  QTimer keep_timer_;
  Tray* tray_ = nullptr;  ///< null until the window is first hidden behind its icon
  bool quits_when_finished_ = false, restored_ = false, problem_told_ = false;
};

}  // namespace lathe::ui
