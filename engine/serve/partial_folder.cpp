// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/partial_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace lathe::engine {

namespace fs = std::filesystem;

Result<PartialFolder> PartialFolder::make(const fs::path& output) {
  const std::string ending = ".partial-" + std::string(6, 'X');  // mkdtemp replaces the X's
  std::string name = (fs::is_directory(output) ? output / ending : fs::path(output).concat(ending)).string();
  if (::mkdtemp(name.data()) == nullptr) {
    return fail(ErrorCode::resource_exhausted, fmt::format("cannot be created: {}", std::strerror(errno)), name);
  }
  return PartialFolder(name);
}

PartialFolder::~PartialFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void PartialFolder::take_place_of(const fs::path& output, const std::set<std::string, std::less<>>& old_files) {
  const fs::path made = std::exchange(path_, {});  // from here on a failure removes none of its files
  if (!fs::exists(output)) {
    fs::permissions(made, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                              fs::perms::others_exec);
    return fs::rename(made, output);
  }
  std::set<std::string> is_new;
  for (const fs::directory_entry& entry : fs::directory_iterator(made)) is_new.insert(entry.path().filename().string());
  for (const std::string& name : is_new) {
    if (fs::is_directory(output / name)) fs::remove_all(output / name);  // rename() replaces empty folders only
    fs::rename(made / name, output / name);
  }
  fs::remove(made);
  for (const fs::directory_entry& entry : fs::directory_iterator(output)) {
    const std::string name = entry.path().filename().string();
    const bool is_old = entry.path().extension() == ".safetensors" || old_files.contains(name);
    if (!is_old || is_new.contains(name)) continue;
    entry.is_directory() && old_files.contains(name) ? fs::remove_all(entry.path()) : fs::remove(entry.path());
  }
}

void PartialFolder::become_file(const fs::path& output) {
  const fs::path made = std::exchange(path_, {});
  for (const fs::directory_entry& entry : fs::directory_iterator(made)) fs::rename(entry.path(), output);
  fs::remove(made);
}

}  // namespace lathe::engine
