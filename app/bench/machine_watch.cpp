// SPDX-License-Identifier: Apache-2.0
#include "app/bench/machine_watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lathe::app {
namespace {

namespace fs = std::filesystem;

// One second of one processor: the error of the tick counters exceeds the load that fewer ticks show.
constexpr double kEnoughTicks = 100;

/// Returns the first word of a file; empty: the file is empty or does not exist.
std::string word_in(const fs::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

/// Returns the number after `name` in a file of lines "name number"; 0: not found.
double number_behind(const fs::path& file, const std::string& name) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string first;
    double number = 0;
    if (words >> first >> number && first == name) return number;
  }
  return 0;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    paths.push_back(entry->path());
  return paths;
}

/// User and system time from /proc/self/stat, fields 14 and 15; the process name before them may contain any character.
double own_ticks(const fs::path& file) {
  std::ifstream stream(file);
  std::string text;
  std::getline(stream, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return user + system;
}

bool is_processor(const std::string& name) {
  return name.starts_with("cpu") && name.size() > 3 && std::isdigit(static_cast<unsigned char>(name[3])) != 0;
}

}  // namespace

MachineWatch::MachineWatch(std::string root, bool guards_load, std::function<std::uint64_t()> own_tokens)
    : root_(std::move(root)), guards_load_(guards_load), own_tokens_(std::move(own_tokens)) {
  begin();
}

MachineWatch::Counts MachineWatch::counts() const {
  Counts now;
  std::ifstream stream(root_ + "/proc/stat");
  std::string name;
  // Fields of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
  std::array<double, 8> ticks{};
  stream >> name;
  for (double& one : ticks) stream >> one;
  constexpr std::size_t kIdle = 3, kWaiting = 4;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    now.all += ticks[i];
    if (i != kIdle && i != kWaiting) now.busy += ticks[i];
  }
  if (own_tokens_) now.own_tokens = own_tokens_();
  now.own = own_ticks(root_ + "/proc/self/stat");
  const std::string pages = root_ + "/proc/vmstat";
  now.swapped = number_behind(pages, "pswpin") + number_behind(pages, "pswpout");
  return now;
}

void MachineWatch::begin() { begin_ = counts(); }

std::vector<MachineWarning> MachineWatch::end() {
  const Counts now = counts();
  run_.busy += now.busy - begin_.busy;
  run_.all += now.all - begin_.all;
  run_.own += now.own - begin_.own;
  const double swapped = (now.swapped - begin_.swapped) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  // The counter fell: another model was loaded, whose counter began at 0.
  const std::uint64_t own_tokens = now.own_tokens - (now.own_tokens < begin_.own_tokens ? 0 : begin_.own_tokens);
  const MachineWarning seen[] = {{"battery", battery()},       {"governor", governor()},
                                 {"other_load", other_load()}, {"own_requests", static_cast<double>(own_tokens)},
                                 {"memory", memory()},         {"swap", swapped}};
  std::vector<MachineWarning> warnings;
  for (const MachineGuard& guard : machine_guards()) {
    for (const MachineWarning& one : seen) {
      if (one.guard == guard.name && one.value > guard.most) warnings.push_back(one);
    }
  }
  return warnings;
}

/// Batteries of mice and keyboards (scope "Device") are ignored.
double MachineWatch::battery() const {
  for (const fs::path& supply : entries_of(root_ + "/sys/class/power_supply")) {
    if (word_in(supply / "type") == "Battery" && word_in(supply / "scope") != "Device" &&
        word_in(supply / "status") == "Discharging")
      return 1;
  }
  return 0;
}

/// Share of the processors whose governor is not "performance"; processors without a governor count as fast.
double MachineWatch::governor() const {
  double n_slow = 0, n_all = 0;
  for (const fs::path& processor : entries_of(root_ + "/sys/devices/system/cpu")) {
    if (!is_processor(processor.filename().string())) continue;
    const std::string name = word_in(processor / "cpufreq" / "scaling_governor");
    ++n_all;
    n_slow += name.empty() || name == "performance" ? 0 : 1;
  }
  return n_all > 0 ? n_slow / n_all : 0;
}

double MachineWatch::memory() const {
  const std::string file = root_ + "/proc/meminfo";
  const double all = number_behind(file, "MemTotal:"), left = number_behind(file, "MemAvailable:");
  return all > 0 && left > 0 ? 1 - left / all : 0;
}

/// Share of all processors' time that other processes took, including other guests of the host (steal).
double MachineWatch::other_load() {
  if (!guards_load_ || run_.all < kEnoughTicks) return 0;
  const double share = (run_.busy - run_.own) / run_.all;
  run_ = {};
  return std::max(0.0, share);
}

}  // namespace lathe::app
