// SPDX-License-Identifier: Apache-2.0
#include "app/api/paths.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "app/workbench/home_folder.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;

struct XdgFolder {
  const char* variable;
  const char* below_home;  ///< folder below the home folder if the variable is not set
  std::string Paths::*path;
};

constexpr std::array kXdgFolders = {
    XdgFolder{"XDG_CONFIG_HOME", ".config", &Paths::config}, XdgFolder{"XDG_DATA_HOME", ".local/share", &Paths::data},
    XdgFolder{"XDG_CACHE_HOME", ".cache", &Paths::cache}, XdgFolder{"XDG_STATE_HOME", ".local/state", &Paths::state}};

/// Searches the home folder only if a variable is not set, because its substitute is created on the disk.
void follow_xdg(Paths& paths) {
  HomeFolder home;
  for (const XdgFolder& folder : kXdgFolders) {
    fs::path base = environment(folder.variable);
    // XDG specification: relative paths in these variables are ignored.
    if (!base.is_absolute()) {
      if (home.path.empty()) home = find_home_folder();
      base = fs::path(home.path) / folder.below_home;
    }
    paths.*folder.path = (base / "lathe").string();
  }
  paths.problem = home.problem;
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
  follow_xdg(paths);
  return paths;
}

}  // namespace lathe::app
