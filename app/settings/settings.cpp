// SPDX-License-Identifier: Apache-2.0
#include "app/api/settings.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "app/settings/atomic_file.h"
#include "app/settings/set_aside.h"
#include "kernels/api/check.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;
using engine::ErrorCode;
using engine::Json;
using engine::Result;

constexpr int kVersion = 1;
constexpr std::uintmax_t kMaxFileBytes = 16 << 20;
/// Delay between the first change and the write: changes come in bursts (a slider).
constexpr std::chrono::milliseconds kFlushAfter{500};
constexpr std::string_view kModelPrefix = "model/";

using Values = std::map<std::string, Json, std::less<>>;

const SettingDescriptor* find_descriptor(std::string_view key) {
  const auto& table = setting_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const SettingDescriptor& d) { return d.key == key; });
  return found == table.end() ? nullptr : &*found;
}

bool is_model_key(std::string_view key) { return key.starts_with(kModelPrefix); }

/// A whole number is allowed where a fraction is expected, but not the reverse.
bool same_type(const Json& value, const Json& fallback) {
  if (fallback.is_number_float()) return value.is_number();
  if (fallback.is_number_integer()) return value.is_number_integer();
  return value.type() == fallback.type();
}

bool in_range(const Json& value, const SettingDescriptor& descriptor) {
  if (descriptor.min == descriptor.max || !value.is_number_integer()) return true;
  // An unsigned number may exceed every signed one.
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(descriptor.max)) return false;
  const auto number = value.get<std::int64_t>();
  return number >= descriptor.min && number <= descriptor.max;
}

bool fits(std::string_view key, const Json& value) {
  const SettingDescriptor* descriptor = find_descriptor(key);
  return descriptor == nullptr || (same_type(value, descriptor->fallback) && in_range(value, *descriptor));
}

/// The values of a file, and their problems.
struct Loaded {
  Values values;
  std::string problem;
  bool repaired = false;  ///< the file has bad values and was copied: it must be rewritten
};

Result<Values> parse(const std::string& text, const std::string& file) {
  LATHE_TRY(const Json json, engine::parse_json(text, file));
  if (!json.is_object() || !json.contains("version") || !json["version"].is_number_integer() || !json.contains("settings") ||
      !json["settings"].is_object()) {
    return engine::fail(ErrorCode::invalid_argument, "it has no \"version\" and \"settings\"", file);
  }
  if (const auto version = json["version"].get<std::int64_t>(); version != kVersion) {
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("it has version {}, but this program writes version {}", version, kVersion), file);
  }
  Values values;
  for (const auto& [key, value] : json["settings"].items()) values.emplace(key, value);
  return values;
}

Result<std::string> read_all(const std::string& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return engine::fail(ErrorCode::invalid_argument, "it is not a file", file);
  if (fs::file_size(file, error) > kMaxFileBytes)
    return engine::fail(ErrorCode::too_large, "it is larger than 16 MiB", file);
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  if (!stream.is_open() || stream.bad()) return engine::fail(ErrorCode::internal, "it cannot be read", file);
  return std::move(content).str();
}

/// Resets values of a wrong type or out of range to their defaults; all other values stay.
void drop_bad_values(Loaded& loaded, const std::string& file) {
  std::string names;
  std::erase_if(loaded.values, [&](const auto& entry) {
    if (fits(entry.first, entry.second)) return false;
    names += (names.empty() ? "" : ", ") + entry.first;
    return true;
  });
  if (names.empty()) return;
  loaded.problem = fmt::format("Settings with a wrong type or value were reset to their defaults: {}.", names);
  const std::string copy = keep_copy_aside(file);
  if (copy.empty()) return;  // the file is not overwritten without a copy
  loaded.problem += " The old file is " + copy + ".";
  loaded.repaired = true;
}

Loaded load(const std::string& file) {
  Loaded loaded;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error))) return loaded;
  Result<Values> values = read_all(file).and_then([&](const std::string& text) { return parse(text, file); });
  if (values) {
    loaded.values = std::move(*values);
    drop_bad_values(loaded, file);
    return loaded;
  }
  const std::string kept = set_aside(file);
  loaded.problem = fmt::format("The settings could not be used: {}. The defaults are used; ", values.error().message);
  loaded.problem += kept.empty() ? "the old file could not be moved away." : "the old file is " + kept + ".";
  return loaded;
}

class FileSettings final : public Settings {
 public:
  FileSettings(std::string file, Loaded loaded, std::function<void(const std::string&)> on_unsaved)
      : file_(std::move(file)),
        values_(std::move(loaded.values)),
        problem_(std::move(loaded.problem)),
        dirty_(loaded.repaired) {
    // Writes immediately: otherwise the next start would find the same bad values, make another copy and report them again.
    // A failure of this write is in problem() before anyone can ask.
    static_cast<void>(flush());
    on_unsaved_ = std::move(on_unsaved);
    thread_ = std::jthread([this](const std::stop_token& stop) { write_behind(stop); });
  }

  ~FileSettings() override {
    thread_.request_stop();
    changed_.notify_all();
    thread_.join();
    static_cast<void>(flush());
  }

  Json get(std::string_view key) const override {
    const SettingDescriptor* descriptor = find_descriptor(key);
    LATHE_DCHECK(descriptor != nullptr || is_model_key(key));
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    if (found != values_.end() && fits(key, found->second)) return found->second;
    return descriptor == nullptr ? Json() : descriptor->fallback;
  }

  void set(std::string_view key, Json value) override {
    LATHE_DCHECK(is_model_key(key) || find_descriptor(key) != nullptr);
    {
      const std::lock_guard lock(mutex_);
      const auto [entry, fresh] = values_.try_emplace(std::string(key));
      if (!fresh && entry->second == value) return;
      entry->second = std::move(value);
      mark_changed();
    }
    changed_.notify_all();
  }

  void reset(std::string_view key) override {
    {
      const std::lock_guard lock(mutex_);
      const auto found = values_.find(key);
      if (found == values_.end()) return;
      values_.erase(found);
      mark_changed();
    }
    changed_.notify_all();
  }

  Result<void> flush() override {
    const std::lock_guard one_writer(write_mutex_);
    std::string text;
    {
      const std::lock_guard lock(mutex_);
      if (!dirty_) return {};
      dirty_ = false;
      text = engine::dump_json(Json{{"version", kVersion}, {"settings", values_}}, 2) + "\n";
    }
    Result<void> written = write(text);
    note_outcome(written);
    return written;
  }

  std::string problem() const override {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  /// Refuses a text that the next start could not read because of its size; the old file stays.
  Result<void> write(const std::string& text) const {
    if (text.size() > kMaxFileBytes)
      return engine::fail(
          ErrorCode::too_large,
          fmt::format("they have {} bytes, but a settings file may have at most {}", text.size(), kMaxFileBytes), file_);
    std::error_code error;
    fs::create_directories(fs::path(file_).parent_path(), error);
    return write_file_atomically(file_, text);
  }

  /// Requires: write_mutex_ is locked.
  void note_outcome(const Result<void>& written) {
    const bool told = std::exchange(unsaved_, !written);
    if (written) return;
    const std::string news = fmt::format("Settings cannot be saved: {} ({}).", written.error().message, file_);
    {
      const std::lock_guard lock(mutex_);
      dirty_ = true;  // the next change writes again
      if (told) return;
      problem_ += (problem_.empty() ? "" : " ") + news;
    }
    if (on_unsaved_) on_unsaved_(news);
  }

  /// Requires: mutex_ is locked.
  void mark_changed() {
    dirty_ = true;
    ++n_changes_;
  }

  void write_behind(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "lathe-settings");
    std::uint64_t n_seen = 0;
    while (!stop.stop_requested()) {
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return n_changes_ != n_seen; })) return;
        // Collects the burst; only a stop request ends this wait early.
        changed_.wait_for(lock, stop, kFlushAfter, [] { return false; });
        n_seen = n_changes_;
      }
      static_cast<void>(flush());
    }
  }

  const std::string file_;
  std::function<void(const std::string&)> on_unsaved_;  ///< set once, before the thread starts
  mutable std::mutex mutex_;
  std::mutex write_mutex_;  ///< locked before mutex_
  std::condition_variable_any changed_;
  Values values_;
  std::string problem_;
  bool dirty_ = false;
  bool unsaved_ = false;  ///< the last write failed and was reported; guarded by write_mutex_
  std::uint64_t n_changes_ = 0;
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<Settings> open_settings(const std::string& folder, std::function<void(const std::string&)> on_unsaved) {
  const std::string file = (fs::path(folder) / "settings.json").string();
  return std::make_unique<FileSettings>(file, load(file), std::move(on_unsaved));
}

}  // namespace lathe::app
