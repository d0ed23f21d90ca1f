// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/result/sweep_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "app/api/sweep_metrics.h"
#include "app/bench/sweep/result/distribution_json.h"
#include "app/bench/sweep/result/plan_difference.h"
#include "app/bench/sweep/result/run_record.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;
using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;
using engine::Result;

/// First line of a journal. It contains the names of the metrics, so that a journal of a program version with other metrics
/// is not resumed.
std::string plan_line_of(const SweepPlan& plan) {
  OrderedJson names = OrderedJson::array();
  for (const SweepMetric& metric : sweep_metrics()) names.push_back(metric.name);
  return engine::dump_json(OrderedJson{{"plan", to_json(plan)}, {"metrics", names}});
}

bool is_entry(const Json& entry) {
  return entry.is_object() && entry.contains("cell") && entry["cell"].is_number_unsigned() &&
         (entry.contains("error") ? entry["error"].is_string() : entry.contains("sample") && entry["sample"].is_array());
}

/// A locked journal file: no other process writes it during this object's life.
class HeldFile {
 public:
  static Result<HeldFile> open(const std::string& path) {
    HeldFile held(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (held.file_ < 0)
      return engine::fail(ErrorCode::not_found, fmt::format("cannot be written: {}", std::strerror(errno)), path);
    if (::flock(held.file_, LOCK_EX | LOCK_NB) != 0)
      return engine::fail(ErrorCode::conflict, "a sweep is writing this journal: stop it first", path);
    return held;
  }
  HeldFile(HeldFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  HeldFile& operator=(HeldFile&&) = delete;
  ~HeldFile() {
    if (file_ >= 0) ::close(file_);
  }

 private:
  explicit HeldFile(int file) : file_(file) {}
  int file_;
};

/// Writes the file and flushes it to the disk. False: errno has the reason.
bool write_whole(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fdatasync(file) == 0;
  return ::close(file) == 0 && whole;
}

/// Adds an entry's distributions. Journals of older versions have none.
Result<void> add_distributions(const Json& entry, const std::string& where, CellResult& cell) {
  if (!entry.contains("distributions")) return {};
  auto read = distributions_from(entry["distributions"]);
  if (!read) return engine::fail(read.error().code, fmt::format("{} {}", read.error().where, read.error().message), where);
  cell.distributions.push_back(std::make_shared<const std::vector<LatencyDistribution>>(std::move(*read)));
  return {};
}

/// Parses all complete lines. A sample after a failure of the same cell replaces the failure.
Result<std::map<std::size_t, CellResult>> parse_cells(const std::string& text, const std::string& plan_line,
                                                      const std::string& path) {
  const auto refuse = [&](std::string message) {
    return engine::fail(ErrorCode::invalid_argument, std::move(message), path);
  };
  std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
  std::string line;
  std::getline(lines, line);
  if (line != plan_line) return refuse(text_of_difference(line, plan_line));
  std::map<std::size_t, CellResult> cells;
  for (int number = 2; std::getline(lines, line); ++number) {
    LATHE_TRY(const Json entry, engine::parse_json(line, fmt::format("{}, line {}", path, number)));
    if (!is_entry(entry)) return refuse(fmt::format("line {} is not a line of a journal", number));
    CellResult& cell = cells[entry["cell"].get<std::size_t>()];
    if (entry.contains("error")) {
      cell.error = entry["error"].get<std::string>();
      continue;
    }
    cell.error.clear();
    std::vector<double> sample;
    for (const Json& value : entry["sample"]) sample.push_back(value.is_number() ? value.get<double>() : kUnseen);
    if (sample.size() != sweep_metrics().size()) return refuse(fmt::format("line {} has {} metrics", number, sample.size()));
    if (entry.contains("warnings")) {
      LATHE_TRY(const auto warnings, machine_warnings_from(entry["warnings"]));
      keep_worst(cell.warnings, warnings);
    }
    LATHE_TRY_VOID(add_distributions(entry, fmt::format("{}, line {}", path, number), cell));
    if (entry.contains("trials")) {
      LATHE_TRY(auto trials, sweep_trials_from(entry["trials"]));
      cell.trials.push_back(std::move(trials));
    }
    cell.samples.push_back(std::move(sample));
  }
  return cells;
}

}  // namespace

SweepJournal::SweepJournal(SweepJournal&& other) noexcept
    : file_(std::exchange(other.file_, -1)), cells_(std::move(other.cells_)) {}

SweepJournal::~SweepJournal() {
  if (file_ >= 0) ::close(file_);
}

Result<SweepJournal> SweepJournal::open(const std::string& path, const SweepPlan& plan, bool resume) {
  SweepJournal journal;
  if (path.empty()) return journal;
  const auto refuse = [&](std::string message) {
    return engine::fail(ErrorCode::invalid_argument, std::move(message), path);
  };
  const bool exists = ::access(path.c_str(), F_OK) == 0;
  if (exists && !resume) return refuse("the journal exists; --resume continues it");
  journal.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
  if (journal.file_ < 0) return refuse(fmt::format("cannot be written: {}", std::strerror(errno)));
  if (::flock(journal.file_, LOCK_EX | LOCK_NB) != 0) return refuse("another sweep is writing this journal");
  const std::string plan_line = plan_line_of(plan);
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  if (text.str().find('\n') == std::string::npos) {
    if (!plan_line.starts_with(text.str())) return refuse("is not a journal of this plan");
    if (::ftruncate(journal.file_, 0) != 0) return refuse(fmt::format("cannot be written: {}", std::strerror(errno)));
    LATHE_TRY_VOID(journal.append(plan_line));
    return journal;
  }
  LATHE_TRY_VOID(journal.read(text.str(), plan_line, path));
  return journal;
}

Result<SweepPlan> SweepJournal::plan_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!file || !std::getline(file, line)) return engine::fail(ErrorCode::not_found, "there is no readable journal", path);
  LATHE_TRY(const Json json, engine::parse_json(line, path));
  if (!json.is_object() || !json.contains("plan"))
    return engine::fail(ErrorCode::invalid_argument, "is not the journal of a sweep", path);
  return sweep_plan_from(json["plan"]);
}

Result<void> SweepJournal::rename(const std::string& path, const std::string& name) {
  LATHE_TRY(SweepPlan plan, plan_in(path));
  LATHE_TRY(const HeldFile held, HeldFile::open(path));
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string all = text.str();
  const std::size_t end = all.find('\n');
  if (all.substr(0, end) != plan_line_of(plan))
    return engine::fail(ErrorCode::invalid_argument, "the journal belongs to another version of the program", path);
  plan.name = name;
  // Beside it first: a crash leaves the old journal or the new one.
  const std::string new_path = path + ".new";
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (!write_whole(new_path, plan_line_of(plan) + (end == all.npos ? std::string() : all.substr(end))))
    error.assign(errno, std::generic_category());
  if (!error) fs::last_write_time(new_path, time, error);
  if (!error) fs::rename(new_path, path, error);
  if (!error) return {};
  std::error_code left;
  fs::remove(new_path, left);
  return engine::fail(ErrorCode::resource_exhausted, fmt::format("cannot be written: {}", error.message()), path);
}

Result<void> SweepJournal::remove(const std::string& path) {
  LATHE_TRY_VOID(plan_in(path));
  LATHE_TRY(const HeldFile held, HeldFile::open(path));
  std::error_code error;
  if (fs::remove(path, error)) return {};
  return engine::fail(ErrorCode::invalid_argument, fmt::format("cannot be removed: {}", error.message()), path);
}

Result<void> SweepJournal::read(const std::string& text, const std::string& plan_line, const std::string& path) {
  LATHE_TRY(cells_, parse_cells(text, plan_line, path));
  for (auto& [index, cell] : cells_) cell.error.clear();
  std::erase_if(cells_, [](const auto& cell) { return cell.second.samples.empty(); });
  const std::size_t whole = text.rfind('\n') + 1;
  if (whole != text.size() && ::ftruncate(file_, static_cast<off_t>(whole)) != 0) {
    return engine::fail(ErrorCode::invalid_argument, fmt::format("cannot be written: {}", std::strerror(errno)), path);
  }
  return {};
}

Result<std::map<std::size_t, CellResult>> SweepJournal::cells_in(const std::string& path, const SweepPlan& plan) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return parse_cells(text.str(), plan_line_of(plan), path);
}

Result<void> SweepJournal::append(const std::string& line) {
  if (file_ < 0) return {};
  const std::string text = line + "\n";
  // One write per line: a crash leaves complete lines, or one that is cut at the end of the file.
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ::fdatasync(file_) != 0) {
    return engine::fail(ErrorCode::resource_exhausted,
                        fmt::format("the journal cannot be written: {}", std::strerror(errno)), "journal");
  }
  return {};
}

Result<void> SweepJournal::add_sample(std::size_t cell, std::vector<double> metrics,
                                      std::span<const MachineWarning> warnings,
                                      std::vector<LatencyDistribution> distributions, std::vector<SweepTrial> trials) {
  OrderedJson line = {{"cell", cell}, {"sample", metrics}};
  if (!distributions.empty()) line["distributions"] = journal_json(distributions);
  if (!warnings.empty()) line["warnings"] = to_json(warnings);
  if (!trials.empty()) line["trials"] = to_json(trials);
  LATHE_TRY_VOID(append(engine::dump_json(line)));
  keep_worst(cells_[cell].warnings, warnings);
  cells_[cell].samples.push_back(std::move(metrics));
  if (!distributions.empty())
    cells_[cell].distributions.push_back(std::make_shared<const std::vector<LatencyDistribution>>(std::move(distributions)));
  if (!trials.empty()) cells_[cell].trials.push_back(std::move(trials));
  return {};
}

Result<void> SweepJournal::add_failure(std::size_t cell, std::string error) {
  LATHE_TRY_VOID(append(engine::dump_json(OrderedJson{{"cell", cell}, {"error", error}})));
  cells_[cell].error = std::move(error);
  return {};
}

}  // namespace lathe::app
