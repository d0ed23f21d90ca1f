// SPDX-License-Identifier: Apache-2.0
// Log: lines with a level and a category, written to stderr and to a file, and kept for views that show them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::app {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
std::string_view name_of(LogLevel level);

struct LogLine {
  std::uint64_t sequence = 0;
  std::int64_t unix_ms = 0;
  LogLevel level = LogLevel::info;
  std::string category;  ///< "engine", "server", "library"...
  std::string text;      ///< control characters escaped
};

/// Thread: any. Keeps the last 50,000 lines.
class Log {
 public:
  virtual ~Log() = default;
  virtual void write(LogLevel level, std::string_view category, std::string text) = 0;
  /// Lines with sequence >= cursor that are still kept; moves the cursor past them.
  virtual std::vector<LogLine> lines_since(std::uint64_t& cursor) const = 0;
  /// Also writes all later lines to this file, which is rotated at 10 MB; 3 files are kept. Creates the file's folder. If
  /// the file cannot be written, the log gets a warning.
  virtual void keep_file(const std::string& file) = 0;

  void info(std::string_view category, std::string text) { write(LogLevel::info, category, std::move(text)); }
  void warning(std::string_view category, std::string text) { write(LogLevel::warning, category, std::move(text)); }
  void error(std::string_view category, std::string text) { write(LogLevel::error, category, std::move(text)); }
};

struct LogOptions {
  bool to_stderr = true;
  LogLevel level = LogLevel::info;
  std::string file;  ///< for keep_file(); empty: none
};
std::unique_ptr<Log> make_log(const LogOptions& options);

}  // namespace lathe::app
