// SPDX-License-Identifier: Apache-2.0
#include "app/api/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "app/library/model_names.h"
#include "app/library/model_scan.h"
#include "engine/api/hub_snapshot.h"
#include "engine/api/model_shapes.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;
using engine::ErrorCode;
using engine::Json;
using engine::Result;

constexpr std::size_t kRecentKept = 20;
constexpr std::string_view kDemoName = "demo";

std::vector<std::string> texts(const Json& list) {
  std::vector<std::string> values;
  for (const Json& value : list) {
    if (value.is_string()) values.push_back(value.get<std::string>());
  }
  return values;
}

/// True for text that cannot be a model's name.
bool is_written_as_path(const std::string& text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../") || text.starts_with('~');
}

class SettingsLibrary final : public Library {
 public:
  SettingsLibrary(Settings& settings, std::string resources, std::vector<WatchedFolder> standard)
      : settings_(settings), resources_(std::move(resources)), standard_(std::move(standard)) {}

  std::vector<LibraryEntry> entries(const ScanObserver& observer) const override {
    std::vector<LibraryEntry> list;
    if (const std::string demo = demo_model(); !demo.empty()) {
      list.push_back({.path = demo, .name = engine::checkpoint_name(demo), .is_demo = true, .stamp = stamp_of(demo)});
    }
    for (const std::string& path : texts(settings_.get("library/recent"))) {
      if (is_model(path)) {
        list.push_back({.path = path, .name = engine::checkpoint_name(path), .recent = true, .stamp = stamp_of(path)});
      }
    }
    ModelScan scan(list, observer);
    for (const WatchedFolder& folder : folders()) scan.walk(folder.path);
    drop_repeated(list);
    return list;
  }

  std::vector<WatchedFolder> folders() const override {
    std::vector<WatchedFolder> all;
    if (settings_.get("library/standard_folders") == Json(true)) all = standard_;
    for (const std::string& path : texts(settings_.get("library/folders"))) all.push_back({.path = path, .kind = {}});
    for (WatchedFolder& folder : all) {
      std::error_code problem;
      folder.is_there = fs::is_directory(folder.path, problem);
    }
    return all;
  }

  Result<void> check_unchanged(const LibraryEntry& entry) const override {
    std::error_code problem;
    if (!fs::exists(entry.path, problem)) {
      return engine::fail(ErrorCode::not_found,
                          fmt::format("{} has disappeared since the folders were searched; scan again", entry.name),
                          entry.path);
    }
    const FileStamp now = stamp_of(entry.path);
    if (now == entry.stamp) return {};
    const std::string what =
        now.n_files != entry.stamp.n_files   ? fmt::format("{} files, now {}", entry.stamp.n_files, now.n_files)
        : now.n_bytes != entry.stamp.n_bytes ? fmt::format("{} bytes, now {}", entry.stamp.n_bytes, now.n_bytes)
                                             : std::string("the same size, but written since");
    return engine::fail(ErrorCode::conflict,
                        fmt::format("{} has changed since the folders were searched ({}); scan again", entry.name, what),
                        entry.path);
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
    return is_checkpoint_folder(folder) ? folder.string() : std::string();
  }

  Result<std::string> resolve(const std::string& path_or_name) const override {
    if (engine::is_shape_path(path_or_name)) {
      LATHE_TRY_VOID(engine::find_shape(path_or_name));
      return path_or_name;
    }
    std::error_code problem;
    // Dangling links and unreadable paths are not looked up by name: opening them reports the reason.
    const fs::file_type type = fs::symlink_status(path_or_name, problem).type();
    const bool is_denied = problem == std::errc::permission_denied;
    if (is_denied || (type != fs::file_type::not_found && type != fs::file_type::none)) {
      const fs::path absolute = fs::absolute(path_or_name, problem).lexically_normal();
      return (absolute.has_filename() ? absolute : absolute.parent_path()).string();
    }
    if (is_written_as_path(path_or_name)) return engine::fail(ErrorCode::not_found, "no such file or folder", path_or_name);
    if (path_or_name == kDemoName && !demo_model().empty()) return demo_model();
    return find_by_name(entries({}), folders(), path_or_name);
  }

 private:
  /// Drops repeated models: one model may be recent, watched and the demo at once. The first entry stays; a recent entry
  /// takes the name of the repeated one, which may come from another program's store.
  static void drop_repeated(std::vector<LibraryEntry>& list) {
    std::map<std::string, std::size_t> first;
    std::vector<LibraryEntry> kept;
    for (LibraryEntry& entry : list) {
      std::error_code problem;
      const std::string snapshot = engine::hub_snapshot(entry.path);
      const fs::path real = fs::weakly_canonical(snapshot.empty() ? entry.path : snapshot, problem);
      const auto [place, is_new] = first.emplace(real.string(), kept.size());
      if (is_new) kept.push_back(std::move(entry));
      else if (kept[place->second].recent) kept[place->second].name = entry.name;
    }
    list = std::move(kept);
  }

  Settings& settings_;
  const std::string resources_;
  const std::vector<WatchedFolder> standard_;
};

}  // namespace

ModelFacts look_at_model(const std::string& path, std::int64_t returned_bytes) {
  ModelFacts facts;
  auto info = engine::inspect_checkpoint(path);
  if (!info) {
    facts.error = std::move(info.error());
    return facts;
  }
  facts.info = std::move(*info);
  engine::EngineOptions options;
  options.model = path;
  if (const auto fit = engine::estimate_fit(*facts.info, options, returned_bytes)) facts.verdict = fit->verdict;
  return facts;
}

std::unique_ptr<Library> make_library(Settings& settings, std::string resources, std::vector<WatchedFolder> standard) {
  return std::make_unique<SettingsLibrary>(settings, std::move(resources), std::move(standard));
}

}  // namespace lathe::app
