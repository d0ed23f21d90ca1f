// SPDX-License-Identifier: Apache-2.0
#include "app/api/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <chrono>
#include <deque>
#include <mutex>

#include "app/log/printable.h"

namespace lathe::app {
namespace {

constexpr std::size_t kKeptLines = 50'000;
constexpr std::size_t kFileBytes = 10 << 20;
constexpr std::size_t kOldFiles = 3;

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

class SpdlogLog final : public Log {
 public:
  explicit SpdlogLog(const LogOptions& options) : level_(options.level), logger_("lathe", sinks_) {
    logger_.set_level(spdlog_level(options.level));
    logger_.flush_on(spdlog::level::info);
    // Errors of spdlog itself (a full disk) must neither end the program nor repeat for every line.
    logger_.set_error_handler([](const std::string&) {});
    if (options.to_stderr) add_sink(std::make_shared<spdlog::sinks::stderr_color_sink_mt>(), "%^%L%$ %v");
    if (!options.file.empty()) keep_file(options.file);
  }

  void keep_file(const std::string& file) override {
    try {
      add_sink(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file, kFileBytes, kOldFiles),
               "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    } catch (const spdlog::spdlog_ex& problem) {
      write(LogLevel::warning, "log", std::string("the log file cannot be opened: ") + problem.what());
    }
  }

  void write(LogLevel level, std::string_view category, std::string text) override {
    if (level < level_) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    LogLine line;
    line.unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    line.level = level;
    line.category = printable(category, 64);
    line.text = printable(text);
    logger_.log(spdlog_level(level), "{}: {}", line.category, line.text);
    const std::lock_guard lock(mutex_);
    line.sequence = next_sequence_++;
    lines_.push_back(std::move(line));
    if (lines_.size() > kKeptLines) lines_.pop_front();
  }

  std::vector<LogLine> lines_since(std::uint64_t& cursor) const override {
    const std::lock_guard lock(mutex_);
    const std::uint64_t first = next_sequence_ - lines_.size();
    const std::uint64_t begin = std::min(std::max(cursor, first), next_sequence_);
    cursor = next_sequence_;
    return {lines_.begin() + static_cast<std::ptrdiff_t>(begin - first), lines_.end()};
  }

 private:
  void add_sink(spdlog::sink_ptr sink, const std::string& pattern) {
    sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern));
    sinks_->add_sink(std::move(sink));
  }

  const LogLevel level_;
  const std::shared_ptr<spdlog::sinks::dist_sink_mt> sinks_ = std::make_shared<spdlog::sinks::dist_sink_mt>();
  spdlog::logger logger_;
  mutable std::mutex mutex_;
  std::deque<LogLine> lines_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "?";
}

std::unique_ptr<Log> make_log(const LogOptions& options) { return std::make_unique<SpdlogLog>(options); }

}  // namespace lathe::app
