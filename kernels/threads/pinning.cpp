// SPDX-License-Identifier: Apache-2.0
#include "kernels/threads/pinning.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace lathe::kernels {
namespace {

// Least number of cores on which workers are pinned: on a smaller machine a pinned worker could not move away from a busy
// core.
constexpr int kMinCoresToPin = 4;

std::vector<int> cpus_of(const cpu_set_t& set) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::string topology_of(int cpu, const char* file) {
  std::ifstream in("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + file);
  std::string value;
  in >> value;
  return value;
}

void set_cpus(std::jthread& thread, std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof set, &set);
}

bool is_shared(int cpu, std::span<const int> pinned) { return std::count(pinned.begin(), pinned.end(), cpu) > 1; }

}  // namespace

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  return cpus_of(set);
}

std::vector<int> physical_cores() {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<int> cores;
  for (const int cpu : allowed_cpus()) {
    const std::string core = topology_of(cpu, "core_id");
    if (core.empty() || seen.emplace(topology_of(cpu, "physical_package_id"), core).second) cores.push_back(cpu);
  }
  return cores;
}

std::optional<std::vector<int>> pinned_cpus() {
  if (allowed_cpus().size() < 2) return std::vector<int>();
  std::error_code error;
  std::vector<int> pinned;
  std::filesystem::directory_iterator task("/proc/self/task", error);
  for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
    const std::string name = task->path().filename().string();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(thread, sizeof set, &set) != 0) continue;  // the thread has ended
    if (CPU_COUNT(&set) == 1) pinned.push_back(cpus_of(set).front());
  }
  if (error) return std::nullopt;
  return pinned;
}

std::vector<int> worker_cores(int n_threads, std::span<const int> cores, std::span<const int> pinned) {
  std::vector<int> free;
  std::copy_if(cores.begin(), cores.end(), std::back_inserter(free),
               [&](int core) { return std::find(pinned.begin(), pinned.end(), core) == pinned.end(); });
  if (std::ssize(cores) < kMinCoresToPin || n_threads < 2 || std::ssize(free) < n_threads) return {};
  return {free.begin() + 1, free.begin() + n_threads};
}

void pin_workers(std::span<std::jthread> workers) {
  const auto pinned = pinned_cpus();
  if (!pinned) return;
  const std::vector<int> cores = worker_cores(static_cast<int>(workers.size()) + 1, physical_cores(), *pinned);
  for (std::size_t i = 0; i < cores.size(); ++i) set_cpus(workers[i], std::span(cores).subspan(i, 1));
  const auto pinned_now = cores.empty() ? pinned : pinned_cpus();
  const auto is_lost = [&](int core) { return !pinned_now || is_shared(core, *pinned_now); };
  if (std::none_of(cores.begin(), cores.end(), is_lost)) return;
  const std::vector<int> all = allowed_cpus();
  for (std::jthread& worker : workers) set_cpus(worker, all);
}

}  // namespace lathe::kernels
