// SPDX-License-Identifier: GPL-3.0-or-later
// Program `lathe`: runs a command if the arguments name one, else opens the window.
#include <QApplication>
#include <QIcon>
#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "app/api/command_line.h"
#include "app/api/end_watch.h"
#include "app/api/paths.h"
#include "app/api/workbench.h"
#include "ui/shell/display.h"
#include "ui/shell/first_window.h"
#include "ui/shell/main_window.h"
#include "ui/shell/quit_signals.h"

namespace {

using namespace lathe;

/// Options of Qt that have a value; QApplication takes them from argv.
constexpr std::array<std::string_view, 10> kQtOptions = {"platform",        "platformpluginpath", "platformtheme", "plugin",
                                                         "style",           "stylesheet",         "session",       "display",
                                                         "qwindowgeometry", "qwindowtitle"};

std::vector<std::string> without_qt_options(const std::vector<std::string>& arguments) {
  std::vector<std::string> ours;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view all = arguments[i];
    const std::string_view name = all.substr(std::min(all.find_first_not_of('-'), all.size()));
    const bool is_option = all.starts_with('-') && std::find(kQtOptions.begin(), kQtOptions.end(), name) != kQtOptions.end();
    if (is_option) ++i;  // skips the value of the option
    else ours.push_back(arguments[i]);
  }
  return ours;
}

int run_window(QApplication& application, app::Workbench& workbench, ui::QuitSignals& quit_signals,
               const app::WindowArguments& given, ui::FirstWindow& first, app::EndWatch& end_watch) {
  ui::Theme theme;
  const engine::Json name = workbench.settings().get("appearance/theme");
  const engine::Json strong = workbench.settings().get("appearance/strong_outlines");
  theme.choose(ui::theme_choice(name.is_string() ? QString::fromStdString(name.get<std::string>()) : QString()),
               strong.is_boolean() && strong.get<bool>());
  ui::MainWindow window(workbench, theme);
  QObject::connect(&quit_signals, &ui::QuitSignals::asked, &window, &ui::MainWindow::close_without_asking);
  QObject::connect(&first, &ui::FirstWindow::asked, &window,
                   [&window](const ui::OpenRequest& request) { window.open(request.model, request.options); });
  quit_signals.watch();
  window.show();
  window.start(given.model, given.options);
  const int code = application.exec();
  end_watch.begin(app::kLongestEnd, code);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const std::optional<int> code = app::run_command_line(arguments)) return *code;
  app::WindowArguments given;
  if (const std::optional<int> code = app::parse_window_arguments(without_qt_options(arguments), given)) return *code;
  const std::string why = ui::why_no_display();
  if (given.why_no_display) {
    if (!why.empty()) std::printf("%s\n", why.c_str());
    return why.empty() ? app::kExitDone : app::kExitFailed;
  }
  if (!why.empty()) {
    std::fprintf(stderr, "lathe: no window: %s. `lathe serve` works without one.\n", why.c_str());
    return app::kExitFailed;
  }
  app::EndWatch end_watch;
  ui::QuitSignals quit_signals;
  QGuiApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("lathe"));
  QApplication::setApplicationDisplayName(QStringLiteral("Lathe"));
  QApplication::setApplicationVersion(QString::fromStdString(app::version()));
  QGuiApplication::setDesktopFileName(QStringLiteral("lathe"));
  ui::FirstWindow first(app::make_paths(given.profile_dir).data);
  if (!first.claim()) {
    const engine::Result<void> taken = first.hand_over({given.model, given.options});
    if (taken) return app::kExitDone;
    std::fprintf(stderr, "lathe: %s\n", taken.error().message.c_str());
    return app::kExitFailed;
  }
  app::WorkbenchOptions options;
  options.profile_dir = given.profile_dir;
  options.log_name = "window";
  engine::Result<std::unique_ptr<app::Workbench>> workbench = app::Workbench::create(std::move(options));
  if (!workbench) {
    std::fprintf(stderr, "lathe: %s\n", workbench.error().message.c_str());
    return app::kExitFailed;
  }
  return run_window(application, **workbench, quit_signals, given, first, end_watch);
}
