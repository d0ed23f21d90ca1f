// SPDX-License-Identifier: Apache-2.0
#include "app/library/model_scan.h"

#include <algorithm>
#include <system_error>

#include "app/api/model_files.h"
#include "engine/api/hub_snapshot.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;

/// Limits of a scan: a watched folder may be a home directory by mistake.
constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxFolders = 50'000;

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> inner;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, fs::directory_options::skip_permission_denied, problem), end;
       !problem && entry != end; entry.increment(problem)) {
    std::error_code unreadable;
    if (entry->is_directory(unreadable)) inner.push_back(entry->path());
  }
  std::sort(inner.begin(), inner.end());
  return inner;
}

/// True for the names of weight files, in formats that can be opened or in which models are trained and published.
bool is_weights(const fs::path& file) {
  const std::string name = file.filename().string();
  if (file.extension() == ".safetensors" || name == "model.safetensors.index.json") return true;
  const bool is_pickle =
      file.extension() == ".bin" && (name.starts_with("pytorch_model") || name.starts_with("adapter_model"));
  return is_pickle || name == "tf_model.h5" || name == "flax_model.msgpack";
}

bool has_weights(const fs::path& folder) {
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    std::error_code unreadable;
    if (is_weights(entry->path()) && !entry->is_directory(unreadable)) return true;
  }
  return false;
}

/// True for a snapshot in the Hugging Face cache. Its config.json alone makes it a model, as its weights may still be
/// downloading.
bool is_snapshot(const fs::path& folder) {
  return folder.parent_path().filename() == "snapshots" &&
         folder.parent_path().parent_path().filename().string().starts_with("models--");
}

void add_to(FileStamp& stamp, const fs::path& file) {
  std::error_code problem;
  const auto n_bytes = fs::file_size(file, problem);  // size of the target if the file is a link
  if (problem) return;
  const auto time = fs::last_write_time(file, problem);
  if (problem) return;
  // The epoch of the file clock is in the year 2174, so today's times are negative.
  const std::int64_t changed = time.time_since_epoch().count();
  stamp.newest = stamp.n_files == 0 ? changed : std::max(stamp.newest, changed);
  ++stamp.n_files;
  stamp.n_bytes += static_cast<std::int64_t>(n_bytes);
}

}  // namespace

bool is_checkpoint_folder(const fs::path& folder) {
  std::error_code problem;
  const auto is_there = [&](const char* name) { return fs::exists(fs::symlink_status(folder / name, problem)); };
  if (is_there("adapter_config.json")) return has_weights(folder);
  return is_there("config.json") && (has_weights(folder) || is_snapshot(folder));
}

bool is_model(const fs::path& path) {
  std::error_code problem;
  if (fs::is_regular_file(path, problem)) return engine::is_gguf_file(path.string());
  if (is_checkpoint_folder(path) || engine::gguf_models_in(path.string()).size() == 1) return true;
  const std::string snapshot = engine::hub_snapshot(path.string());  // a repository inside a repository does not count
  return !snapshot.empty() && (is_checkpoint_folder(snapshot) || engine::gguf_models_in(snapshot).size() == 1);
}

std::string model_at(const std::string& path) {
  std::error_code problem;
  const fs::path given(path);
  if (!fs::exists(given, problem)) return {};
  if (is_model(given)) return path;
  if (fs::is_directory(given, problem)) {
    const bool in_cache =
        given.filename().string().starts_with("models--") && fs::is_directory(given / "snapshots", problem);
    return in_cache ? path : std::string();
  }
  const bool is_part = given.filename() == "config.json" || given.extension() == ".safetensors";
  const fs::path folder = fs::absolute(given, problem).parent_path();
  return is_part && is_checkpoint_folder(folder) ? folder.string() : std::string();
}

FileStamp stamp_of(const std::string& model) {
  FileStamp stamp;
  std::error_code problem;
  const std::string snapshot = engine::hub_snapshot(model);
  const std::string& path = snapshot.empty() ? model : snapshot;
  const bool is_folder = fs::is_directory(path, problem);
  const bool in_set = !is_folder && fs::path(path).stem().string() != engine::checkpoint_name(path);
  if (!is_folder && !in_set) {
    add_to(stamp, path);
    return stamp;
  }
  const std::string name = engine::checkpoint_name(path);
  for (fs::directory_iterator entry(is_folder ? fs::path(path) : fs::path(path).parent_path(), problem), end;
       !problem && entry != end; entry.increment(problem)) {
    std::error_code unreadable;
    if (!entry->is_regular_file(unreadable)) continue;
    if (is_folder || engine::checkpoint_name(entry->path().string()) == name) add_to(stamp, entry->path());
  }
  return stamp;
}

void ModelScan::walk(const std::string& root) {
  std::vector<Place> waiting{{root, 0}};
  while (!waiting.empty() && !ended_) {
    const Place place = std::move(waiting.back());
    waiting.pop_back();
    std::vector<Place> next;
    read(place, next);
    waiting.insert(waiting.end(), next.rbegin(), next.rend());  // the first folder ends on top of the stack
  }
}

bool ModelScan::may_go_on(const fs::path& folder) {
  if (observer_ && !observer_({folder.string(), seen_.size(), found_.size()})) ended_ = true;
  return !ended_;
}

void ModelScan::read(const Place& place, std::vector<Place>& next) {
  std::error_code problem;
  const fs::path real = fs::canonical(place.folder, problem);
  if (problem || place.depth > kMaxDepth || seen_.size() >= kMaxFolders || !seen_.insert(real.string()).second) return;
  if (!may_go_on(place.folder)) return;
  for (const std::string& name : engine::gguf_models_in(place.folder.string())) {
    const std::string path = (place.folder / name).string();
    add(path, engine::checkpoint_name(path));
  }
  if (is_checkpoint_folder(place.folder)) return add(place.folder.string(), engine::checkpoint_name(place.folder.string()));
  const auto of_ollama = engine::ollama_models_in(place.folder.string());
  for (const engine::OllamaModel& model : of_ollama) add(model.path, model.name);
  if (!of_ollama.empty()) return;
  // The cache keeps every downloaded revision; the repository's name means refs/main.
  if (std::string snapshot = engine::main_hub_snapshot(place.folder.string()); !snapshot.empty()) {
    next.push_back({std::move(snapshot), place.depth + 1});
    return;
  }
  for (fs::path& inner : folders_in(place.folder)) next.push_back({std::move(inner), place.depth + 1});
}

void ModelScan::add(const std::string& path, const std::string& name) {
  found_.push_back({.path = path, .name = name, .stamp = stamp_of(path)});
}

}  // namespace lathe::app
