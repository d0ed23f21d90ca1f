// SPDX-License-Identifier: Apache-2.0
// Checks the files that a plan names: prompts, arrivals, and the text on which quality is measured.

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "app/api/sweep_plan.h"
#include "app/bench/conversation_dataset.h"
#include "app/bench/sweep/plan/trace_file.h"
#include "app/bench/text_dataset.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;
using engine::ErrorCode;
using engine::Result;

/// Files that a workload setting names, as its fixed value or as values of a variable.
std::set<std::string> files_of(const SweepPlan& plan, std::string_view setting) {
  std::set<std::string> files;
  for (const SweepVariable& variable : plan.variables) {
    if (variable.name == setting) files.insert(variable.values.begin(), variable.values.end());
  }
  if (files.empty()) files.insert(get_option(plan.workload, setting));
  files.erase(std::string());
  return files;
}

/// Reports any problem of a file as invalid_argument. Pipes are not read: they yield their content only once.
template <class Read>
Result<void> check_file(std::string_view setting, const std::string& path, const Read& read) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  if (is_folder || ::access(path.c_str(), R_OK) != 0) {
    const char* const reason = is_folder ? "it is a folder" : std::strerror(errno);
    return engine::fail(ErrorCode::invalid_argument, fmt::format("there is no readable file {}: {}", path, reason),
                        std::string(setting));
  }
  if (!fs::is_regular_file(path, error)) return {};
  const auto content = read(path);
  if (content) return {};
  return engine::fail(ErrorCode::invalid_argument, content.error().message, content.error().where);
}

}  // namespace

Result<void> check_files(const SweepPlan& plan) {
  for (const std::string& path : files_of(plan, "dataset")) {
    LATHE_TRY_VOID(check_file("dataset", path, read_conversations));
  }
  for (const std::string& path : files_of(plan, "trace")) LATHE_TRY_VOID(check_file("trace", path, read_trace));
  return plan.quality_dataset.empty() ? Result<void>()
                                      : check_file("quality_dataset", plan.quality_dataset, read_text_dataset);
}

}  // namespace lathe::app
