// SPDX-License-Identifier: Apache-2.0
#include "engine/load/files/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "engine/api/hub_snapshot.h"
#include "engine/base/text_file.h"
#include "engine/load/files/downloads.h"

namespace lathe::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSnapshots = "snapshots";
constexpr std::size_t kMaxRefBytes = 4096;  // a commit's hash, or a branch's name

/// Recognises a repository by the folders that huggingface_hub creates next to snapshots, or by its name.
bool is_repository(const fs::path& folder) {
  std::error_code problem;
  return fs::is_directory(folder / kSnapshots, problem) &&
         (fs::is_directory(folder / "refs", problem) || fs::is_directory(folder / "blobs", problem) ||
          folder.filename().string().starts_with("models--"));
}

/// The repository's path; empty when the folder is neither a repository nor `snapshots` in one.
fs::path repository_of(const std::string& folder) {
  std::error_code problem;
  fs::path path = fs::absolute(folder, problem).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (is_repository(path)) return path;
  return path.filename() == kSnapshots && is_repository(path.parent_path()) ? path.parent_path() : fs::path();
}

/// The revision in refs/main; empty for a text that would lead to another folder.
std::string main_revision(const fs::path& repository) {
  const auto text = read_text_file((repository / "refs/main").string(), kMaxRefBytes);
  if (!text) return {};
  const std::size_t begin = std::min(text->find_first_not_of(" \t\r\n"), text->size());
  const std::string revision = text->substr(begin, text->find_first_of(" \t\r\n", begin) - begin);
  return revision.find('/') != std::string::npos || revision.starts_with('.') ? std::string() : revision;
}

fs::path snapshot_of_main(const fs::path& repository) {
  const std::string revision = main_revision(repository);
  std::error_code problem;
  const fs::path snapshot = repository / kSnapshots / revision;
  return !revision.empty() && fs::is_directory(snapshot, problem) ? snapshot : fs::path();
}

struct DatedFolder {
  fs::file_time_type time;
  fs::path path;
};

/// All snapshots, the newest last.
std::vector<DatedFolder> snapshots_by_age(const fs::path& repository) {
  std::vector<DatedFolder> snapshots;
  std::error_code problem;
  for (fs::directory_iterator entry(repository / kSnapshots, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    std::error_code unreadable;
    if (entry->is_directory(unreadable)) snapshots.push_back({entry->last_write_time(unreadable), entry->path()});
  }
  std::sort(snapshots.begin(), snapshots.end(), [](const DatedFolder& a, const DatedFolder& b) {
    return std::pair(a.time, a.path) < std::pair(b.time, b.path);
  });
  return snapshots;
}

}  // namespace

Result<std::optional<HubSnapshot>> find_hub_snapshot(const std::string& folder) {
  const fs::path repository = repository_of(folder);
  if (repository.empty()) return std::optional<HubSnapshot>();
  if (const fs::path main = snapshot_of_main(repository); !main.empty()) {
    return std::optional(HubSnapshot{.path = main.string(), .warning = {}});
  }
  const std::vector<DatedFolder> snapshots = snapshots_by_age(repository);
  if (snapshots.empty()) {
    return fail(
        ErrorCode::model_refused,
        "is the folder of a repository in the Hugging Face cache, but it has no snapshot: nothing was downloaded yet" +
            downloads_text((repository / kSnapshots / "none").string()),
        repository.filename().string());
  }
  HubSnapshot newest{.path = snapshots.back().path.string(), .warning = {}};
  if (snapshots.size() > 1) {
    newest.warning =
        fmt::format("{:.200}: refs/main names none of the {} snapshots; the newest one is opened, {:.100}",
                    repository.filename().string(), snapshots.size(), snapshots.back().path.filename().string());
  }
  return std::optional(std::move(newest));
}

std::string main_hub_snapshot(const std::string& folder) {
  const fs::path repository = repository_of(folder);
  return repository.empty() ? std::string() : snapshot_of_main(repository).string();
}

std::string hub_snapshot(const std::string& folder) {
  const auto found = find_hub_snapshot(folder);
  return found && *found ? (*found)->path : std::string();
}

}  // namespace lathe::engine
