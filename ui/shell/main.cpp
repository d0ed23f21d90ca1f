// SPDX-License-Identifier: GPL-3.0-or-later
// The program `lathe`: a command when the arguments name one, else the window.
#include <QApplication>
#include <QIcon>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "app/api/command_line.h"
#include "app/api/workbench.h"
#include "ui/shell/display.h"
#include "ui/shell/main_window.h"
#include "ui/shell/quit_signals.h"

namespace {

using namespace lathe;

constexpr std::chrono::seconds kLongestEnd{5};

/// Everything is kept when the window has closed; a load from a disk that does not answer must not keep the process.
void leave_within(std::chrono::seconds time, int code) {
  std::thread([time, code] {
    std::this_thread::sleep_for(time);
    std::_Exit(code);
  }).detach();
}

int run_window(QApplication& application, app::Workbench& workbench, ui::QuitSignals& quit_signals,
               const std::string& model) {
  ui::Theme theme;
  const engine::Json name = workbench.settings().get("appearance/theme");
  const engine::Json strong = workbench.settings().get("appearance/strong_outlines");
  theme.choose(ui::theme_choice(name.is_string() ? QString::fromStdString(name.get<std::string>()) : QString()),
               strong.is_boolean() && strong.get<bool>());
  ui::MainWindow window(workbench, theme);
  QObject::connect(&quit_signals, &ui::QuitSignals::asked, &window, &ui::MainWindow::close_without_asking);
  quit_signals.watch();
  window.show();
  window.start(model);
  const int code = application.exec();
  leave_within(kLongestEnd, code);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const std::optional<int> code = app::run_command_line(arguments)) return *code;
  app::WorkbenchOptions options;
  std::string model;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--profile-dir" && i + 1 < arguments.size()) options.profile_dir = arguments[++i];
    else if (!arguments[i].starts_with("-") && model.empty()) model = arguments[i];
  }
  if (const std::string why = ui::why_no_display(); !why.empty()) {
    std::fprintf(stderr, "lathe: no window: %s. `lathe serve` works without one.\n", why.c_str());
    return app::kExitFailed;
  }
  ui::QuitSignals quit_signals;
  QGuiApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("lathe"));
  QApplication::setApplicationDisplayName(QStringLiteral("Lathe"));
  QApplication::setApplicationVersion(QString::fromStdString(app::version()));
  QGuiApplication::setDesktopFileName(QStringLiteral("lathe"));
  engine::Result<std::unique_ptr<app::Workbench>> workbench = app::Workbench::create(std::move(options));
  if (!workbench) {
    std::fprintf(stderr, "lathe: %s\n", workbench.error().message.c_str());
    return app::kExitFailed;
  }
  return run_window(application, **workbench, quit_signals, model);
}
