// SPDX-License-Identifier: Apache-2.0
#include "app/settings/set_aside.h"

#include <fmt/chrono.h>

#include <ctime>
#include <filesystem>
#include <system_error>

namespace lathe::app {
namespace {

namespace fs = std::filesystem;

/// Returns an unused name: two bad files of the same second must both be kept.
std::string free_name(const std::string& path) {
  const std::string dated = path + fmt::format(".bad-{:%Y%m%d-%H%M%S}", fmt::gmtime(std::time(nullptr)));
  std::string name = dated;
  std::error_code error;
  for (int i = 2; fs::exists(fs::symlink_status(name, error)) && i < 1000; ++i) name = fmt::format("{}-{}", dated, i);
  return name;
}

}  // namespace

std::string set_aside(const std::string& path) {
  const std::string name = free_name(path);
  std::error_code error;
  fs::rename(path, name, error);
  return error ? std::string() : name;
}

std::string keep_copy_aside(const std::string& path) {
  const std::string name = free_name(path);
  std::error_code error;
  fs::copy_file(path, name, error);
  return error ? std::string() : name;
}

}  // namespace lathe::app
