// SPDX-License-Identifier: Apache-2.0
#include "app/workbench/home_folder.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace lathe::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntryBytes = 1 << 20;

/// Returns the home folder of the system's user list if it exists; else empty.
std::string listed_home() {
  std::vector<char> text(1024);
  passwd entry{};
  passwd* found = nullptr;
  while (::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found) == ERANGE && text.size() < kMaxEntryBytes) {
    text.resize(2 * text.size());
  }
  if (found == nullptr || found->pw_dir == nullptr) return {};
  std::error_code error;
  const fs::path home = found->pw_dir;
  return home.is_absolute() && fs::is_directory(home, error) ? home.string() : std::string();
}

/// True if `path` itself, not the target of a link, is a folder that only this user may enter.
bool is_ours_alone(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & 077) == 0;
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || is_ours_alone(path)) return path;
  std::string fresh = path + "-XXXXXX";
  return ::mkdtemp(fresh.data()) != nullptr ? fresh : std::string();
}

HomeFolder find_home_folder() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && fs::path(home).is_absolute()) return {home, {}};
  if (std::string listed = listed_home(); !listed.empty()) return {std::move(listed), {}};
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  const std::string wanted = ((error ? fs::path("/tmp") : temporary) / fmt::format("lathe-{}", ::geteuid())).string();
  const std::string made = private_folder(wanted);
  if (made.empty()) {
    return {wanted, fmt::format("HOME is not set and no folder can be created at {}: settings and chats are not kept. Set "
                                "HOME or give --profile-dir.",
                                wanted)};
  }
  return {
      made,
      fmt::format(
          "HOME is not set: settings and chats are kept in {}, which the system may delete. Set HOME or give --profile-dir.",
          made)};
}

}  // namespace lathe::app
