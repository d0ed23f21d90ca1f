// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/display.h"

#include <dlfcn.h>

#include <QFileInfo>
#include <QLibraryInfo>
#include <cstdlib>

namespace lathe::ui {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Connects to the X server and disconnects, through the library that Qt's own plugin uses.
bool x_display_answers() {
  void* library = dlopen("libxcb.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  using Connect = void* (*)(const char*, int*);
  using HasError = int (*)(void*);
  using Disconnect = void (*)(void*);
  const auto connect = reinterpret_cast<Connect>(dlsym(library, "xcb_connect"));
  const auto has_error = reinterpret_cast<HasError>(dlsym(library, "xcb_connection_has_error"));
  const auto disconnect = reinterpret_cast<Disconnect>(dlsym(library, "xcb_disconnect"));
  if (connect == nullptr || has_error == nullptr || disconnect == nullptr) return false;
  void* connection = connect(nullptr, nullptr);
  const bool answers = has_error(connection) == 0;
  disconnect(connection);
  return answers;
}

bool has_plugin(const char* file) {
  return QFileInfo::exists(QLibraryInfo::path(QLibraryInfo::PluginsPath) + QStringLiteral("/platforms/") +
                           QLatin1String(file));
}

}  // namespace

std::string why_no_display() {
  if (!environment("QT_QPA_PLATFORM").empty()) return {};
  if (!environment("WAYLAND_DISPLAY").empty() && (has_plugin("libqwayland-generic.so") || has_plugin("libqwayland-egl.so")))
    return {};
  const std::string display = environment("DISPLAY");
  if (display.empty() && !environment("WAYLAND_DISPLAY").empty()) return "Qt's wayland plugin is not installed";
  if (display.empty()) return "DISPLAY and WAYLAND_DISPLAY are not set";
  if (!has_plugin("libqxcb.so")) return "Qt's xcb plugin is not installed";
  return x_display_answers() ? std::string() : "the display " + display + " does not answer";
}

}  // namespace lathe::ui
