// SPDX-License-Identifier: GPL-3.0-or-later
// WindowFixture: the real main window over a workbench with a fake engine, in a profile folder of its own.
#pragma once

#include <QAbstractButton>
#include <QPlainTextEdit>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <atomic>

#include "app/api/workbench.h"
#include "tests/support/fake_engine.h"
#include "ui/shell/main_window.h"

namespace lathe::tests {

class WindowFixture {
 public:
  /// `load` says how loads go; `profile` is kept when it is given, so that a second window finds the first one's state.
  /// `devices`: those of the machine; empty: the real ones.
  explicit WindowFixture(FakeLoad load = {}, const QString& profile = {}, std::vector<engine::DeviceInfo> devices = {})
      : devices_(std::move(devices)) {
    const auto keep_engine = load.loaded;
    load.loaded = [this, keep_engine](FakeEngine& engine) {
      engine_ = &engine;
      if (keep_engine) keep_engine(engine);
    };
    open(fake_loader(std::move(load)), profile);
  }
  /// With real models instead; engine() stays null.
  enum class Engines { real };
  WindowFixture(const QString& profile, Engines) { open({}, profile); }
  ~WindowFixture() {
    window->close();
    window.reset();
    workbench.reset();
  }

  /// Chooses a path (nothing is there; the fake does not look) and loads it; returns when it is ready.
  bool load_model() {
    begin_load();
    return wait_ready() && engine() != nullptr;
  }
  bool wait_ready() {
    const auto is_ready = [this] {
      return window->bridge().model_status().state == app::ModelState::ready && !window->bridge().is_loading();
    };
    return QTest::qWaitFor(is_ready, 30000);
  }
  void begin_load(const std::string& path = "/nowhere/fake-model") {
    window->context().load.choose(path);
    trigger("model.load");
  }
  void show_panel(const char* id) { Q_EMIT window->context().navigator.show_panel(QLatin1String(id)); }
  void trigger(const char* action) { window->actions()[QLatin1String(action)]->trigger(); }
  bool enabled(const char* action) { return window->actions()[QLatin1String(action)]->isEnabled(); }

  template <class T>
  T* find(const char* name) {
    return window->findChild<T*>(QLatin1String(name));
  }
  void type(const QString& text) { find<QPlainTextEdit>("composer.field")->setPlainText(text); }
  /// Widgets that the click removed are gone when it returns, as they are long before a user's next click.
  void click(const char* name) {
    QTest::mouseClick(find<QAbstractButton>(name), Qt::LeftButton);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  }
  void say(const QString& text) {
    type(text);
    click("composer.send");
  }
  /// The reply that was said last has ended.
  bool wait_reply() {
    return QTest::qWaitFor([this] { return !window->context().writer.running(); }, 15000);
  }
  ui::Conversation& chat() { return window->context().conversation; }
  ui::ReplyWriter& writer() { return window->context().writer; }
  QString text_of(std::size_t message) { return chat().shown_text(chat().messages().at(message)); }
  /// The versions of the message at this place of the shown path.
  std::vector<std::int64_t> versions_of(std::size_t message) { return chat().versions(chat().messages().at(message).id); }
  QString text_of_version(std::size_t message, std::size_t version) {
    return chat().shown_text(*chat().find(versions_of(message).at(version)));
  }
  FakeEngine* engine() const { return engine_.load(); }

  std::unique_ptr<app::Workbench> workbench;
  std::unique_ptr<ui::Theme> theme;
  std::unique_ptr<ui::MainWindow> window;

 private:
  void open(app::EngineLoader loader, const QString& profile) {
    app::WorkbenchOptions options;
    options.profile_dir = (profile.isEmpty() ? folder_.path() : profile).toStdString();
    options.log.to_stderr = false;
    options.loader = std::move(loader);
    if (!devices_.empty()) options.devices = [devices = devices_] { return devices; };
    engine::Result<std::unique_ptr<app::Workbench>> made = app::Workbench::create(std::move(options));
    if (!made) qFatal("%s", made.error().message.c_str());
    workbench = std::move(*made);
    // Tests run side by side: nobody takes the port that users have.
    if (workbench->settings().get("server/port") == 8000) workbench->settings().set("server/port", 0);
    QWidget probe;
    const QSettings state(QString::fromStdString(workbench->paths().config) + "/window.ini", QSettings::IniFormat);
    const bool is_first = !probe.restoreGeometry(state.value("window/geometry").toByteArray());
    theme = std::make_unique<ui::Theme>();
    window = std::make_unique<ui::MainWindow>(*workbench, *theme);
    window->set_ask_before_closing(false);
    if (is_first) {  // the screen without a display is smaller than the designed window
      window->setWindowState(Qt::WindowNoState);
      window->resize(theme->px(1440), theme->px(900));
    }
    window->show();
  }

  QTemporaryDir folder_;
  std::vector<engine::DeviceInfo> devices_;
  std::atomic<FakeEngine*> engine_{nullptr};
};

}  // namespace lathe::tests
