// SPDX-License-Identifier: Apache-2.0
#include "app/api/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

namespace lathe::app {
namespace {

namespace fs = std::filesystem;
using engine::Json;
using engine::Result;

constexpr std::size_t kRecentKept = 20;
/// Bounds of a scan: a watched folder may be a home directory by mistake.
constexpr int kMaxDepth = 6;
constexpr std::size_t kMaxFolders = 20'000;
constexpr std::string_view kDemoName = "demo";

bool is_checkpoint(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_regular_file(folder / "config.json", error)) return false;
  if (fs::is_regular_file(folder / "model.safetensors.index.json", error)) return true;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") return true;
  }
  return false;
}

/// What can be opened by that path: a checkpoint's folder, a GGUF file, or a folder with one of them.
bool is_model(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path.extension() == ".gguf";
  return is_checkpoint(path) || engine::gguf_models_in(path.string()).size() == 1;
}

/// Walks a watched folder. Links are followed, each real folder is read once, so a loop of links ends.
class Scan {
 public:
  explicit Scan(std::vector<LibraryEntry>& found) : found_(found) {}

  void walk(const fs::path& folder, int depth = 0) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || depth > kMaxDepth || seen_.size() >= kMaxFolders || !seen_.insert(real.string()).second) return;
    for (const std::string& name : engine::gguf_models_in(folder.string())) add(folder / name);
    if (is_checkpoint(folder)) return add(folder);
    std::vector<fs::path> inner;
    for (fs::directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end;
         !error && entry != end; entry.increment(error)) {
      std::error_code unreadable;
      if (entry->is_directory(unreadable)) inner.push_back(entry->path());
    }
    std::sort(inner.begin(), inner.end());
    for (const fs::path& next : inner) walk(next, depth + 1);
  }

 private:
  void add(const fs::path& path) {
    found_.push_back({.path = path.string(), .name = engine::checkpoint_name(path.string())});
  }

  std::vector<LibraryEntry>& found_;
  std::set<std::string> seen_;
};

std::vector<std::string> texts(const Json& list) {
  std::vector<std::string> values;
  for (const Json& value : list) {
    if (value.is_string()) values.push_back(value.get<std::string>());
  }
  return values;
}

class SettingsLibrary final : public Library {
 public:
  SettingsLibrary(Settings& settings, std::string resources) : settings_(settings), resources_(std::move(resources)) {}

  std::vector<LibraryEntry> entries() const override {
    std::vector<LibraryEntry> list;
    if (const std::string demo = demo_model(); !demo.empty()) {
      list.push_back({.path = demo, .name = engine::checkpoint_name(demo), .is_demo = true});
    }
    for (const std::string& path : texts(settings_.get("library/recent"))) {
      if (is_model(path)) list.push_back({.path = path, .name = engine::checkpoint_name(path), .recent = true});
    }
    Scan scan(list);
    for (const std::string& folder : texts(settings_.get("library/folders"))) scan.walk(folder);
    drop_repeated(list);
    return list;
  }

  void opened(const std::string& path) override {
    std::vector<std::string> recent = texts(settings_.get("library/recent"));
    std::erase(recent, path);
    recent.insert(recent.begin(), path);
    if (recent.size() > kRecentKept) recent.resize(kRecentKept);
    settings_.set("library/recent", recent);
    settings_.set("library/last_model", path);
  }

  std::string demo_model() const override {
    if (resources_.empty()) return {};
    const fs::path folder = fs::path(resources_) / "demo_model";
    return is_checkpoint(folder) ? folder.string() : std::string();
  }

  Result<std::string> resolve(const std::string& path_or_name) const override {
    std::error_code error;
    if (fs::exists(path_or_name, error)) {
      const fs::path absolute = fs::absolute(path_or_name, error).lexically_normal();
      return (absolute.has_filename() ? absolute : absolute.parent_path()).string();
    }
    if (path_or_name == kDemoName && !demo_model().empty()) return demo_model();
    const std::vector<LibraryEntry> known = entries();
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const LibraryEntry& e) { return e.name == path_or_name; });
    if (found != known.end()) return found->path;
    std::string names;
    for (const LibraryEntry& entry : known) names += (names.empty() ? "" : ", ") + entry.name;
    return engine::fail(engine::ErrorCode::not_found,
                        fmt::format("no such folder, and no model of that name in the library ({})",
                                    names.empty() ? "which is empty" : names),
                        path_or_name);
  }

 private:
  /// The same folder may be recent, watched and the demo at once: the first place keeps it.
  static void drop_repeated(std::vector<LibraryEntry>& list) {
    std::set<std::string> seen;
    std::erase_if(list, [&](const LibraryEntry& entry) {
      std::error_code error;
      return !seen.insert(fs::weakly_canonical(entry.path, error).string()).second;
    });
  }

  Settings& settings_;
  const std::string resources_;
};

}  // namespace

std::unique_ptr<Library> make_library(Settings& settings, std::string resources) {
  return std::make_unique<SettingsLibrary>(settings, std::move(resources));
}

}  // namespace lathe::app
