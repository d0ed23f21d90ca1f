// SPDX-License-Identifier: Apache-2.0
#include "app/api/paths.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace lathe::app {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// The XDG specification: a relative path in one of its variables is to be ignored.
std::string xdg_folder(const char* variable, const fs::path& home, const char* fallback) {
  const std::string value = environment(variable);
  const fs::path base = fs::path(value).is_absolute() ? fs::path(value) : home / fallback;
  return (base / "lathe").string();
}

fs::path home_folder() {
  const std::string home = environment("HOME");
  if (fs::path(home).is_absolute()) return home;
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  return (error ? fs::path("/tmp") : temporary) / "lathe-home";
}

std::string find_resources() {
  std::error_code error;
  const std::string forced = environment("LATHE_RESOURCES");
  if (!forced.empty()) return fs::is_directory(forced, error) ? forced : std::string();
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = (program.parent_path() / ".." / "share" / "lathe").lexically_normal();
    if (fs::is_directory(installed, error)) return installed.string();
  }
  return fs::is_directory(LATHE_SOURCE_RESOURCES, error) ? LATHE_SOURCE_RESOURCES : std::string();
}

}  // namespace

Paths make_paths(const std::string& profile_dir) {
  Paths paths;
  paths.resources = find_resources();
  if (!profile_dir.empty()) {
    std::error_code error;
    const fs::path absolute = fs::absolute(profile_dir, error);
    const fs::path profile = error ? fs::path(profile_dir) : absolute;
    paths.config = (profile / "config").string();
    paths.data = (profile / "data").string();
    paths.cache = (profile / "cache").string();
    paths.state = (profile / "state").string();
    return paths;
  }
  const fs::path home = home_folder();
  paths.config = xdg_folder("XDG_CONFIG_HOME", home, ".config");
  paths.data = xdg_folder("XDG_DATA_HOME", home, ".local/share");
  paths.cache = xdg_folder("XDG_CACHE_HOME", home, ".cache");
  paths.state = xdg_folder("XDG_STATE_HOME", home, ".local/state");
  return paths;
}

}  // namespace lathe::app
