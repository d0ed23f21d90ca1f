// SPDX-License-Identifier: Apache-2.0
// Settings: the user's settings in one JSON file, written atomically.
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

/// One key with its default and meaning. Every key is in the table, over which tests iterate.
struct SettingDescriptor {
  std::string_view key;  ///< "server/port", "appearance/theme"
  engine::Json fallback;
  std::string_view help;
  std::int64_t min = 0, max = 0;  ///< range of integers; min == max: unbounded
};
const std::vector<SettingDescriptor>& setting_table();

/// The settings file. A file that is invalid, unreadable or of a newer version is renamed to settings.json.bad-<date>, and
/// defaults apply; single invalid values are reset to their defaults, and the file is copied and rewritten. problem()
/// reports this once, since the next start reads a valid file. Thread: any.
class Settings {
 public:
  virtual ~Settings() = default;
  /// The value, or the default when it is unset, of the wrong type or out of range. Requires: a key of the table or
  /// "model/<id>" (options saved per model).
  virtual engine::Json get(std::string_view key) const = 0;
  virtual void set(std::string_view key, engine::Json value) = 0;  ///< written to disk within 1 s, and at exit
  virtual void reset(std::string_view key) = 0;
  virtual engine::Result<void> flush() = 0;
  virtual std::string problem() const = 0;  ///< what was wrong with the file, or with saving it; empty: nothing
};
/// `on_unsaved` is called for the first write that fails, and again only after a write has succeeded. It is called on the
/// writing thread and must not call the settings.
std::unique_ptr<Settings> open_settings(const std::string& folder, std::function<void(const std::string&)> on_unsaved = {});

}  // namespace lathe::app
