// SPDX-License-Identifier: Apache-2.0
#include "engine/load/files/downloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace lathe::engine {
namespace {

namespace fs = std::filesystem;

// THE TABLE of endings: of huggingface_hub, wget and Firefox, Chrome, Safari, Opera, aria2, rsync and custom scripts,
// ollama.
constexpr std::array<std::string_view, 9> kEndings = {".incomplete", ".part",    ".crdownload", ".download", ".opdownload",
                                                      ".aria2",      ".partial", ".!ut",        "-partial"};
constexpr std::size_t kMaxNamedDownloads = 8;
constexpr std::size_t kMaxEntries = 10'000;
/// Where huggingface_hub keeps unfinished downloads: below a folder given as --local-dir, and relative to a snapshot in its
/// cache.
constexpr std::array<std::string_view, 2> kCaches = {".cache/huggingface/download", "../../blobs"};

void add_from(const fs::path& folder, std::string_view below, std::vector<std::string>& found) {
  std::error_code problem;
  std::size_t n_entries = 0;
  for (fs::directory_iterator entry((folder / below).lexically_normal(), problem), end;
       !problem && entry != end && n_entries < kMaxEntries; entry.increment(problem), ++n_entries) {
    const std::string name = entry->path().filename().string();
    if (is_unfinished_download(name)) found.push_back((fs::path(below) / name).string());
  }
}

bool is_snapshot(const fs::path& folder) { return folder.parent_path().filename() == "snapshots"; }

}  // namespace

bool is_unfinished_download(std::string_view name) {
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return name.size() > ending.size() && name.ends_with(ending); });
}

std::vector<std::string> unfinished_downloads(const std::string& folder) {
  std::vector<std::string> found;
  add_from(folder, "", found);
  add_from(folder, kCaches[0], found);
  if (is_snapshot(folder)) add_from(folder, kCaches[1], found);
  std::sort(found.begin(), found.end());
  if (found.size() > kMaxNamedDownloads) found.resize(kMaxNamedDownloads);
  return found;
}

std::string downloads_text(const std::string& folder, std::string_view file) {
  const std::vector<std::string> all = unfinished_downloads(folder);
  // A cache names its files after their content, so any of them may be the wanted file.
  const auto is_its = [&](const std::string& name) { return name.starts_with(file) || name.find('/') != std::string::npos; };
  const auto found = std::find_if(all.begin(), all.end(), is_its);
  if (found == all.end()) return {};
  return fmt::format("; {:.120} is an unfinished download: let it finish, or download the model again", *found);
}

}  // namespace lathe::engine
