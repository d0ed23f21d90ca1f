// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QMenuBar>
#include <QPainter>

#include "ui/dialogs/about.h"
#include "ui/dialogs/settings_dialog.h"
#include "ui/dialogs/shortcuts.h"
#include "ui/shell/corner.h"
#include "ui/shell/file_drop.h"
#include "ui/shell/focus_follower.h"
#include "ui/shell/menus.h"
#include "ui/shell/window_place.h"
#include "ui/shell/writing_menu.h"

namespace lathe::ui {
namespace {

constexpr int kNarrowBelow = 1180;
constexpr int kLeastWidth = 760, kLeastHeight = 520;
constexpr int kDesignedWidth = 1440, kDesignedHeight = 900;
constexpr int kMessageMs = 10'000;
constexpr int kKeepGeometryAfterMs = 400;  // a kill loses at most this much of the changed geometry

/// The model that a file belongs to: a GGUF file is a model itself, other files belong to their folder.
std::string model_of(const QString& path) {
  const QFileInfo file(path);
  const bool is_part = file.fileName() == QStringLiteral("config.json") || file.suffix() == QStringLiteral("safetensors");
  return (is_part ? file.absolutePath() : path).toStdString();
}

QString address_text(const app::ServerStatus& server) {
  if (server.state != app::ServerState::running) return {};
  return QStringLiteral("%1:%2").arg(QString::fromStdString(server.host)).arg(server.port);
}

}  // namespace

MainWindow::MainWindow(app::Workbench& workbench, Theme& theme)
    : workbench_(workbench),
      theme_(theme),
      state_(workbench.paths().config),
      actions_(theme),
      bridge_(workbench),
      sampling_(workbench.settings()),
      load_(workbench, bridge_, background_),
      conversation_(workbench.history(), background_),
      writer_(workbench, bridge_, background_, sampling_, conversation_),
      context_{workbench, bridge_,   background_, theme,         actions_, navigator_,
               state_,    sampling_, load_,       conversation_, writer_,  undo_} {
  setObjectName(QStringLiteral("main_window"));
  connect_drops();
  setMinimumSize(theme.px(kLeastWidth), theme.px(kLeastHeight));
  connect_actions();
  make_rail_and_pages();
  docks_ = new DockLayout(*this, context_);
  auto* const status = new StatusBar(theme, bridge_, this);
  connect(status, &StatusBar::sweep_wanted, this, [this] { show_page(QStringLiteral("bench")); });
  setStatusBar(status);
  name_writing(*status, context_);
  palette_ = new CommandPalette(theme, actions_, this);
  connect_layout_actions();
  fill_menu_bar(*menuBar(), actions_, [this] {
    QList<QAction*> toggles;
    for (const DockEntry& entry : docks_->entries()) toggles.append(entry.dock->toggleViewAction());
    return toggles;
  }());
  make_corner();
  for (QAction* action : actions_.all()) addAction(action);
  keep_timer_.setSingleShot(true);
  keep_timer_.setInterval(kKeepGeometryAfterMs);
  connect(&keep_timer_, &QTimer::timeout, this, &MainWindow::keep_state);
  // A kill may follow the end of the session, so everything is saved before this signal handler returns.
  connect(qApp, &QGuiApplication::commitDataRequest, this, &MainWindow::keep_everything);
  connect(
      qApp, &QGuiApplication::screenRemoved, this, [this] { bring_onto_screens(*this, false); }, Qt::QueuedConnection);
  restore_state();
  new FocusFollower(*this);
  tell_problem();
}

MainWindow::~MainWindow() {
  hide();  // or QWidget does it, and docks that hide then call a window whose members are gone
  keep_timer_.stop();
  background_.wait();
}

void MainWindow::make_rail_and_pages() {
  rail_ = new Rail(theme_, this);
  addToolBar(Qt::LeftToolBarArea, rail_);
  pages_ = new PageArea(theme_, this);
  int number = 0;
  for (const PanelDescriptor* descriptor : panel_table()) {
    if (descriptor->area != PanelArea::page) continue;
    const QString id = QLatin1String(descriptor->id), title = title_of(*descriptor);
    const QString keys = QStringLiteral("Ctrl+%1").arg(++number);
    QAction* action = actions_.add(QStringLiteral("page.") + id, tr("Page %1").arg(title), ActionMenu::view,
                                   QLatin1String(descriptor->icon), keys, tr("Show the page %1").arg(title));
    connect(action, &QAction::triggered, this, [this, id] { show_page(id); });
    Panel* panel = descriptor->make(context_, pages_);
    panel->setObjectName(id);
    panel->setAccessibleName(title);
    panel->setProperty("plane", QStringLiteral("page"));
    panel->setAttribute(Qt::WA_StyledBackground);
    pages_->add(panel);
    rail_->add_page(id, title, QLatin1String(descriptor->icon), action->toolTip());
  }
  RailItem* settings = rail_->add_tool(QStringLiteral("settings"), tr("Settings"), QStringLiteral("settings"),
                                       actions_[QStringLiteral("settings.open")]->toolTip());
  connect(settings, &QAbstractButton::clicked, actions_[QStringLiteral("settings.open")], &QAction::trigger);
  connect(rail_, &Rail::page_chosen, this, &MainWindow::show_page);
  setCentralWidget(pages_);
}

void MainWindow::make_corner() {
  auto* corner = new Corner(theme_, actions_, menuBar());
  palette_field_ = corner->palette_field();
  menuBar()->setCornerWidget(corner);
  menuBar()->setFixedHeight(theme_.px(37));
}

void MainWindow::connect_drops() {
  auto* const drops = new FileDrop(*this);
  connect(drops, &FileDrop::model_dropped, this, &MainWindow::choose_file);
  connect(drops, &FileDrop::refused, this, [this](const QString& words) {
    statusBar()->showMessage(words, kMessageMs);
    workbench_.log().info("ui", words.toStdString());
  });
}

void MainWindow::connect_actions() {
  connect_undo();
  actions_.on(QStringLiteral("app.quit"), this, [this] { close(); });
  actions_.on(QStringLiteral("model.open"), this, [this] { open_model_dialog(); });
  actions_.on(QStringLiteral("view.palette"), this, [this] { palette_->open(); });
  actions_.on(QStringLiteral("view.full_screen"), this, [this](bool on) { on ? showFullScreen() : showNormal(); });
  actions_.on(QStringLiteral("settings.open"), this, [this] { SettingsDialog::open_over(this, context_); });
  for (const QString& name : {QStringLiteral("light"), QStringLiteral("dark"), QStringLiteral("system")})
    actions_.on(QStringLiteral("settings.theme_") + name, this, [this, name] { choose_theme(name); });
  actions_.on(QStringLiteral("help.manual"), this, [this] { open_manual(manual_target_of(nullptr)); });
  actions_[QStringLiteral("help.manual")]->installEventFilter(this);
  actions_.on(QStringLiteral("help.shortcuts"), this, [this] { show_shortcuts(theme_, actions_, this); });
  actions_.on(QStringLiteral("help.about"), this, [this] { show_about(theme_, this); });
  connect(&navigator_, &Navigator::show_panel, this, &MainWindow::show_panel);
  connect(&bridge_, &Bridge::model_changed, this, &MainWindow::update_facts);
  connect(&bridge_, &Bridge::streams_changed, this, &MainWindow::update_facts);
  connect(&bridge_, &Bridge::server_changed, this, &MainWindow::update_facts);
  connect(&bridge_, &Bridge::server_changed, this, &MainWindow::update_rail_dots);
  connect(&bridge_, &Bridge::model_changed, this, &MainWindow::update_rail_dots);
  connect(&theme_, &Theme::changed, this, &MainWindow::update_rail_dots);
  connect(&load_, &LoadChoice::changed, this, &MainWindow::update_facts);
  connect(&load_, &LoadChoice::fit_changed, this, &MainWindow::update_facts);
  connect(&bridge_, &Bridge::model_changed, this, [this] {
    if (bridge_.loaded()) sampling_.set_recommended(bridge_.loaded()->default_sampling);
  });
  connect(&bridge_, &Bridge::sweep_changed, this, &MainWindow::update_rail_dots);
  bridge_.watch(this, Interest::model | Interest::server | Interest::sweep);
}

void MainWindow::connect_undo() {
  const auto named = [](const QString& word, const QString& what) {
    return what.isEmpty() ? word : QStringLiteral("%1: %2").arg(word, what);
  };
  actions_.on(QStringLiteral("edit.undo"), &undo_, [this] { undo_.undo(); });
  actions_.on(QStringLiteral("edit.redo"), &undo_, [this] { undo_.redo(); });
  connect(&undo_, &QUndoStack::indexChanged, this, [this, named] {
    actions_.set_fact(Fact::can_undo, undo_.canUndo());
    actions_.set_fact(Fact::can_redo, undo_.canRedo());
    actions_[QStringLiteral("edit.undo")]->setText(named(tr("&Undo"), undo_.undoText()));
    actions_[QStringLiteral("edit.redo")]->setText(named(tr("&Redo"), undo_.redoText()));
  });
}

void MainWindow::connect_layout_actions() {
  for (const QString& name : {QStringLiteral("chat"), QStringLiteral("serving"), QStringLiteral("benchmark"),
                              QStringLiteral("everything"), QStringLiteral("reset")})
    actions_.on(QStringLiteral("layout.") + name, this, [this, name] { apply_layout(name); });
  const struct {
    const char* id;
    PanelArea area;
  } toggles[] = {{"view.left_docks", PanelArea::left},
                 {"view.bottom_docks", PanelArea::bottom},
                 {"view.right_docks", PanelArea::right}};
  for (const auto& toggle : toggles)
    actions_.on(QLatin1String(toggle.id), this, [this, area = toggle.area](bool on) { docks_->set_area_visible(area, on); });
  actions_.on(QStringLiteral("view.side_docks"), this, [this] {
    const bool any = docks_->area_visible(PanelArea::left) || docks_->area_visible(PanelArea::right);
    docks_->set_area_visible(PanelArea::right, !any);
    docks_->set_area_visible(PanelArea::left, !any && !docks_->narrow());
  });
  actions_.on(QStringLiteral("view.maximise_dock"), this, [this] {
    QDockWidget* found = nullptr;
    for (const DockEntry& entry : docks_->entries())
      if (entry.dock->isAncestorOf(QApplication::focusWidget())) found = entry.dock;
    docks_->toggle_maximised(found);
  });
  connect(docks_, &DockLayout::changed, this, [this] {
    update_dock_toggles();
    if (restored_) keep_timer_.start();
  });
}

void MainWindow::start(const std::string& path, const std::vector<std::pair<std::string, std::string>>& options) {
  bridge_.refresh();
  app::Library& library = workbench_.library();
  std::string wanted = path;
  if (wanted.empty()) {
    const engine::Json last = workbench_.settings().get("library/last_model");
    if (last.is_string()) wanted = last.get<std::string>();
    if (wanted.empty() || !library.resolve(wanted)) wanted = library.demo_model();
  } else if (const engine::Result<std::string> resolved = library.resolve(path)) {
    wanted = *resolved;
  } else {
    return load_.refuse(path, resolved.error());
  }
  if (wanted.empty()) return;
  load_.choose(wanted);
  for (const auto& [name, value] : options) load_.set_option(QString::fromStdString(name), QString::fromStdString(value));
  const engine::Json at_start = workbench_.settings().get("general/load_at_start");
  if (!path.empty() || !options.empty() || !at_start.is_boolean() || at_start.get<bool>()) static_cast<void>(load_.load());
}

void MainWindow::show_page(const QString& id) {
  for (int i = 0; i < pages_->count(); ++i) {
    if (pages_->page(i)->objectName() != id) continue;
    pages_->setCurrentIndex(i);
    rail_->set_current(id);
    pages_->page(i)->came_into_view();
    workbench_.settings().set("window/page", id.toStdString());
    docks_->show_for_page(id);
  }
  update_title();
}

QString MainWindow::page() const {
  return pages_->current_page() != nullptr ? pages_->current_page()->objectName() : QString();
}

void MainWindow::show_panel(const QString& id) {
  if (docks_->dock(id) != nullptr) docks_->raise(id);
  else show_page(id);
}

void MainWindow::apply_layout(const QString& name) {
  const bool reset = name == QLatin1String("reset");
  if (reset) docks_->forget_pages();
  show_page(name == QLatin1String("serving")     ? QStringLiteral("serve")
            : name == QLatin1String("benchmark") ? QStringLiteral("bench")
                                                 : QStringLiteral("chat"));
  docks_->apply_preset(reset ? QStringLiteral("chat") : name);
  workbench_.settings().set("window/layout", reset ? "chat" : name.toStdString());
}

void MainWindow::update_facts() {
  const app::ModelState model = bridge_.model_status().state;
  const app::ServerState server = bridge_.server_status().state;
  actions_.set_fact(Fact::model_ready, model == app::ModelState::ready);
  actions_.set_fact(Fact::can_chat, bridge_.can_chat());
  actions_.set_fact(Fact::loading, bridge_.is_loading());
  actions_.set_fact(Fact::not_loading, !bridge_.is_loading());
  actions_.set_fact(Fact::can_load, !load_.is_unusable());
  actions_.set_fact(Fact::model_or_failed, model == app::ModelState::ready || model == app::ModelState::failed);
  actions_.set_fact(Fact::server_off_or_on, server != app::ServerState::starting && server != app::ServerState::stopping);
  actions_.set_fact(Fact::changed_settings, !load_.changed_options().isEmpty());
  if (quits_when_finished_ && !bridge_.is_loading()) {
    quits_when_finished_ = model == app::ModelState::none;
    if (quits_when_finished_) QMetaObject::invokeMethod(this, &QWidget::close, Qt::QueuedConnection);
  }
  update_title();
}

void MainWindow::update_title() {
  QStringList parts;
  if (bridge_.loaded()) parts.append(QString::fromStdString(bridge_.loaded()->name));
  if (const QWidget* page = pages_ != nullptr ? pages_->current_page() : nullptr) {
    parts.append(page->windowTitle().isEmpty() ? page->accessibleName() : page->windowTitle());
  }
  parts.append(QStringLiteral("Lathe"));
  setWindowTitle(parts.join(QStringLiteral(" – ")));
}

void MainWindow::update_dock_toggles() {
  actions_[QStringLiteral("view.left_docks")]->setChecked(docks_->area_visible(PanelArea::left));
  actions_[QStringLiteral("view.bottom_docks")]->setChecked(docks_->area_visible(PanelArea::bottom));
  actions_[QStringLiteral("view.right_docks")]->setChecked(docks_->area_visible(PanelArea::right));
}

void MainWindow::update_rail_dots() {
  RailItem* serve = rail_->item(QStringLiteral("serve"));
  if (serve == nullptr) return;
  const app::ServerState state = bridge_.server_status().state;
  const Tokens& t = theme_.tokens();
  const bool answers = bridge_.loaded().has_value();
  serve->set_dot(state == app::ServerState::running && answers                             ? t.success.fill
                 : state == app::ServerState::running && bridge_.is_loading()              ? t.warning.fill
                 : state == app::ServerState::running || state == app::ServerState::failed ? t.error.fill
                                                                                           : QColor());
  rail_->item(QStringLiteral("bench"))->set_dot(workbench_.sweeper().status().runs() ? t.accent : QColor());
}

void MainWindow::choose_theme(const QString& name) {
  workbench_.settings().set("appearance/theme", name.toStdString());
  const engine::Json strong = workbench_.settings().get("appearance/strong_outlines");
  theme_.choose(theme_choice(name), strong.is_boolean() && strong.get<bool>());
}

void MainWindow::open_model_dialog() {
  const QString file =
      QFileDialog::getOpenFileName(this, tr("Open a model: a GGUF file, or the config.json of a Hugging Face checkpoint"),
                                   {}, tr("Models (*.gguf config.json *.safetensors)"));
  if (file.isEmpty()) return;
  choose_file(file);
}

void MainWindow::choose_file(const QString& file) {
  load_.choose(model_of(file));
  show_panel(QStringLiteral("model"));
}

void MainWindow::restore_state() {
  const bool restored = restore_place(*this, state_, QSize(theme_.px(kDesignedWidth), theme_.px(kDesignedHeight)));
  const engine::Json last_page = workbench_.settings().get("window/page");
  if (last_page.is_string()) show_page(QString::fromStdString(last_page.get<std::string>()));
  if (docks_->page().isEmpty()) show_page(QStringLiteral("chat"));  // the setting names no page
  // At the first start the place of the window needs no correction.
  if (restored) bring_onto_screens(*this, has_same_screens(state_));
  restored_ = true;
  update_facts();
  update_dock_toggles();
}

void MainWindow::keep_state() {
  keep_place(*this, state_);
  docks_->keep();
  state_.flush();
  tell_problem();
}

void MainWindow::tell_problem() {
  if (problem_told_ || state_.problem().isEmpty()) return;
  problem_told_ = true;
  workbench_.log().warning("ui", state_.problem().toStdString());
}

void MainWindow::keep_everything() {
  keep_timer_.stop();
  keep_state();
  writer_.stop_and_keep();
  Q_EMIT navigator_.closing();
  static_cast<void>(workbench_.settings().flush());
}

void MainWindow::close_without_asking() {
  navigator_.set_asks(false);
  // An open dialog would keep the program running.
  QApplication::closeAllWindows();
  close();
  QCoreApplication::exit(0);
}

RunningWork MainWindow::running_work() const {
  return {.n_requests = bridge_.n_requests(),
          .sweep = workbench_.sweeper().status(),
          .server = address_text(workbench_.server().status()),
          .has_tray = Tray::is_available()};
}

bool MainWindow::may_close() {
  const engine::Json confirm = workbench_.settings().get("general/confirm_close");
  if (!navigator_.asks() || quits_when_finished_ || (confirm.is_boolean() && !confirm.get<bool>())) return true;
  const QuitAnswer answer = ask_to_quit(running_work(), this);
  if (!navigator_.asks()) return true;  // close_without_asking() has closed the question
  if (answer == QuitAnswer::finish) quit_when_finished();
  if (answer == QuitAnswer::tray) go_to_tray();
  return answer == QuitAnswer::quit;
}

/// Unloads the model when its requests have ended, and closes the window then. Who cancels the unloading stays.
void MainWindow::quit_when_finished() {
  quits_when_finished_ = true;
  workbench_.models().unload(app::Ending::finish);
  bridge_.refresh();
}

/// Hides the window; the server goes on.
void MainWindow::go_to_tray() {
  keep_state();
  if (tray_ == nullptr) {
    tray_ = new Tray(this);
    connect(tray_, &Tray::open_asked, this, [this] { open({}, {}); });
    connect(tray_, &Tray::quit_asked, this, [this] {
      open({}, {});
      close();
    });
  }
  tray_->show(address_text(workbench_.server().status()));
  hide();
}

void MainWindow::open(const std::string& model, const std::vector<std::pair<std::string, std::string>>& options) {
  if (tray_ != nullptr) tray_->hide();
  show();
  setWindowState(windowState() & ~Qt::WindowMinimized);
  raise();
  activateWindow();
  if (model.empty()) return;
  const engine::Result<std::string> resolved = workbench_.library().resolve(model);
  show_panel(QStringLiteral("model"));
  if (!resolved) return load_.refuse(model, resolved.error());
  load_.choose(*resolved);
  for (const auto& [name, value] : options) load_.set_option(QString::fromStdString(name), QString::fromStdString(value));
  actions_[QStringLiteral("model.load")]->trigger();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!may_close()) return event->ignore();
  if (workbench_.sweeper().status().runs()) workbench_.sweeper().stop();
  keep_everything();
  if (manual_ != nullptr) manual_->close();
  QMainWindow::closeEvent(event);
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  const bool narrow = width() < theme_.px(kNarrowBelow);
  rail_->set_compact(narrow);
  docks_->set_narrow(narrow);
  static_cast<Corner*>(menuBar()->cornerWidget())->set_compact(narrow);
  if (restored_) keep_timer_.start();
}

void MainWindow::moveEvent(QMoveEvent* event) {
  QMainWindow::moveEvent(event);
  if (restored_) keep_timer_.start();
}

void MainWindow::open_manual(const ManualTarget& target) {
  if (manual_ == nullptr) manual_ = new ManualWindow(theme_, this);
  manual_->open_at(target);
}

bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
  if (watched != actions_[QStringLiteral("help.manual")] || event->type() != QEvent::Shortcut)
    return QMainWindow::eventFilter(watched, event);
  open_manual(manual_target_of(QApplication::focusWidget()));
  return true;
}

void MainWindow::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::WindowStateChange) actions_[QStringLiteral("view.full_screen")]->setChecked(isFullScreen());
}

}  // namespace lathe::ui
