// SPDX-License-Identifier: Apache-2.0
// Settings: everything that the user chose, kept in one JSON file, written atomically.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"

namespace lathe::app {

/// One key: its default and what it means. Every key is registered here: the table is what tests walk over.
struct SettingDescriptor {
  std::string_view key;  ///< "server/port", "appearance/theme"
  engine::Json fallback;
  std::string_view help;
  std::int64_t min = 0, max = 0;  ///< of whole numbers; min == max: unbounded
};
const std::vector<SettingDescriptor>& setting_table();

/// Thread: any. A broken, unreadable or newer file is set aside as settings.json.bad-<date> and defaults hold; single bad
/// values go back to their defaults, the file is copied aside and written anew. `problem()` says so, this once: the next
/// start finds a good file.
class Settings {
 public:
  virtual ~Settings() = default;
  /// The value, or the default when it is unset, of the wrong type or out of range. Requires: a key of the table or
  /// "model/<id>" (options saved per model).
  virtual engine::Json get(std::string_view key) const = 0;
  virtual void set(std::string_view key, engine::Json value) = 0;  ///< written to disk within 1 s and at the end
  virtual void reset(std::string_view key) = 0;
  virtual engine::Result<void> flush() = 0;
  virtual std::string problem() const = 0;  ///< what was wrong with the file, or with saving it; empty: nothing
};
/// `on_unsaved` hears of the first write that fails, and of the next only after one that succeeded. Thread: the writing one;
/// it must not call the settings.
std::unique_ptr<Settings> open_settings(const std::string& folder, std::function<void(const std::string&)> on_unsaved = {});

}  // namespace lathe::app
