// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/sweep_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "app/bench/sweep/sweep_metrics.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;
using engine::Result;

/// The metrics belong to it: a journal of an older program with others cannot be gone on with.
std::string plan_line_of(const SweepPlan& plan) {
  OrderedJson names = OrderedJson::array();
  for (const SweepMetric& metric : sweep_metrics()) names.push_back(metric.name);
  return engine::dump_json(OrderedJson{{"plan", to_json(plan)}, {"metrics", names}});
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
  const auto refuse = [&](std::string message) { return engine::fail(ErrorCode::invalid_argument, std::move(message), path); };
  const bool exists = ::access(path.c_str(), F_OK) == 0;
  if (exists && !resume) return refuse("the journal exists; --resume goes on with it");
  journal.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
  if (journal.file_ < 0) return refuse(fmt::format("cannot be written: {}", std::strerror(errno)));
  const std::string plan_line = plan_line_of(plan);
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  if (text.str().find('\n') == std::string::npos) {
    if (!plan_line.starts_with(text.str())) return refuse("is no journal of this plan");
    if (::ftruncate(journal.file_, 0) != 0) return refuse(fmt::format("cannot be written: {}", std::strerror(errno)));
    LATHE_TRY_VOID(journal.append(plan_line));
    return journal;
  }
  LATHE_TRY_VOID(journal.read(text.str(), plan_line, path));
  return journal;
}

Result<void> SweepJournal::read(const std::string& text, const std::string& plan_line, const std::string& path) {
  const auto refuse = [&](std::string message) { return engine::fail(ErrorCode::invalid_argument, std::move(message), path); };
  const std::size_t whole = text.rfind('\n') + 1;
  std::istringstream lines(text.substr(0, whole));
  std::string line;
  std::getline(lines, line);
  if (line != plan_line) return refuse("the journal belongs to another plan: name another file, or take its plan");
  for (int number = 2; std::getline(lines, line); ++number) {
    LATHE_TRY(const Json entry, engine::parse_json(line, fmt::format("{}, line {}", path, number)));
    const bool is_entry = entry.is_object() && entry.contains("cell") && entry["cell"].is_number_unsigned() &&
                          (entry.contains("error") ? entry["error"].is_string() : entry.contains("sample") && entry["sample"].is_array());
    if (!is_entry) return refuse(fmt::format("line {} is none of a journal", number));
    if (!entry.contains("error")) {
      CellResult& cell = cells_[entry["cell"].get<std::size_t>()];
      std::vector<double> sample;
      for (const Json& value : entry["sample"]) sample.push_back(value.is_number() ? value.get<double>() : 0);
      if (sample.size() != sweep_metrics().size()) return refuse(fmt::format("line {} has {} metrics", number, sample.size()));
      cell.samples.push_back(std::move(sample));
    }
  }
  if (whole != text.size() && ::ftruncate(file_, static_cast<off_t>(whole)) != 0) {
    return refuse(fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  return {};
}

Result<void> SweepJournal::append(const std::string& line) {
  if (file_ < 0) return {};
  const std::string text = line + "\n";
  // One write: a crash leaves whole lines, or one that is cut at the end.
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ::fdatasync(file_) != 0) {
    return engine::fail(ErrorCode::resource_exhausted, fmt::format("the journal cannot be written: {}", std::strerror(errno)), "journal");
  }
  return {};
}

Result<void> SweepJournal::add_sample(std::size_t cell, std::vector<double> metrics) {
  LATHE_TRY_VOID(append(engine::dump_json(OrderedJson{{"cell", cell}, {"sample", metrics}})));
  cells_[cell].samples.push_back(std::move(metrics));
  return {};
}

Result<void> SweepJournal::add_failure(std::size_t cell, std::string error) {
  LATHE_TRY_VOID(append(engine::dump_json(OrderedJson{{"cell", cell}, {"error", error}})));
  cells_[cell].error = std::move(error);
  return {};
}

}  // namespace lathe::app
