// SPDX-License-Identifier: Apache-2.0
#include "engine/base/free_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace lathe::engine {

namespace fs = std::filesystem;

namespace {

/// File names of a cgroup. Versions 1 and 2 use different names for the same values.
struct GroupFiles {
  std::string_view mount, limit, usage, droppable;
};
constexpr GroupFiles kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr GroupFiles kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

/// The number in a file that holds one; nothing for "max" or a missing file.
std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::int64_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

/// The number after `key` in a file of "key number" lines.
std::optional<std::int64_t> number_behind(const fs::path& file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t number = 0;
    if (words >> name >> number && name == key) return number;
  }
  return std::nullopt;
}

std::optional<std::int64_t> room_in_group(const fs::path& folder, const GroupFiles& files) {
  const auto limit = number_in(folder / files.limit), usage = number_in(folder / files.usage);
  if (!limit || !usage) return std::nullopt;
  const std::int64_t droppable = number_behind(folder / "memory.stat", files.droppable).value_or(0);
  return std::max<std::int64_t>(*limit - std::max<std::int64_t>(*usage - droppable, 0), 0);
}

void keep_least(std::optional<std::int64_t>& least, std::optional<std::int64_t> value) {
  if (value) least = std::min(least.value_or(*value), *value);
}

/// The smallest free memory of a cgroup and all its ancestors.
std::optional<std::int64_t> room_up_from(const fs::path& mount, std::string_view group, const GroupFiles& files) {
  std::optional<std::int64_t> least;
  for (fs::path path = group;; path = path.parent_path()) {
    keep_least(least, room_in_group(mount / path.relative_path(), files));
    if (!path.has_relative_path()) return least;
  }
}

/// The smallest free memory of all cgroups in /proc/self/cgroup, whose lines are "0::/path" in version 2 and
/// "4:memory:/path" in version 1.
std::optional<std::int64_t> room_in_groups(const std::string& root) {
  std::optional<std::int64_t> least;
  std::ifstream stream(root + "/proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) keep_least(least, room_up_from(root + std::string(kVersion2.mount), group, kVersion2));
    if (controllers == "memory") keep_least(least, room_up_from(root + std::string(kVersion1.mount), group, kVersion1));
  }
  return least;
}

}  // namespace

std::optional<std::int64_t> free_memory_bytes(const std::string& root) {
  constexpr std::int64_t kKibibyte = 1024;
  std::optional<std::int64_t> free = number_behind(root + "/proc/meminfo", "MemAvailable:");
  if (free) *free *= kKibibyte;
  keep_least(free, room_in_groups(root));
  return free;
}

}  // namespace lathe::engine
