// SPDX-License-Identifier: Apache-2.0
// Loads a checkpoint and prints how long it took, what it held at most, and what is left of that after a cancelled load.
//   load_bench MODEL [--quantization NAME] [--cache DIR] [--threads N] [--cancel PERCENT] [--fresh MIB]
// Memory: anonymous pages of the process, and those of mapped files beside them (which the system can drop).
// --fresh: how long so much memory alone takes to appear, by a process that ends before the load begins. A virtual machine
// whose host takes free memory away waits for each page that it gets back: 2 us, longer than its weights take to be packed.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include "engine/api/packed_cache.h"

namespace {

using namespace lathe::engine;

/// Units: MiB, of a line of /proc/self/status.
double memory(const std::string& line) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kib = 0;
    if (word == line + ":" && status >> kib) return kib / 1024;
  }
  return 0;
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Writes into every page of memory like that of weights, and gives it back to the system.
void print_fresh_memory(std::size_t n_bytes) {
  std::fflush(stdout);
  if (fork() != 0) return static_cast<void>(wait(nullptr));
  const auto begin = std::chrono::steady_clock::now();
  void* const memory = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(1);
  madvise(memory, n_bytes, MADV_HUGEPAGE);
  constexpr std::size_t kPage = 4096;
  for (std::size_t i = 0; i < n_bytes; i += kPage) static_cast<volatile char*>(memory)[i] = 1;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} MiB of fresh memory alone: {:.2f} s\n", n_bytes >> 20, seconds);
  std::fflush(stdout);
  _exit(0);
}

void print_memory(const char* when) {
  fmt::print("{:<8} RSS {:8.1f} MiB, of it anonymous {:8.1f}, files {:8.1f}; peak {:8.1f}\n", when, memory("VmRSS"),
             memory("RssAnon"), memory("RssFile"), memory("VmHWM"));
}

}  // namespace

int main(int argc, char** argv) {
  EngineOptions options;
  options.quantization = "bitsandbytes_4bit";
  options.max_num_seqs = 1;
  options.max_model_len = 256;
  PackedCacheFolder folder;
  double cancel_at = 200;
  std::size_t fresh_mib = 0;
  if (argc > 1) options.model = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--quantization") options.quantization = value;
    if (flag == "--cache") folder.path = value;
    if (flag == "--threads") options.threads = std::stoi(value);
    if (flag == "--cancel") cancel_at = std::stod(value);
    if (flag == "--fresh") fresh_mib = std::stoul(value);
  }
  if (argc < 2 || argc % 2 != 0) {
    return fmt::print(stderr, "load_bench MODEL [--quantization NAME] [--cache DIR] [--threads N] [--cancel PERCENT] "
                              "[--fresh MIB]\n"),
           2;
  }
  if (fresh_mib > 0) print_fresh_memory(fresh_mib << 20);
  print_memory("start");
  double peak_anonymous = 0, begun[3] = {};  // seconds of the processors: opened, first weights, warm-up
  std::int64_t total = 0;
  const double begin_worked = processor_seconds();
  const auto observe = [&](const LoadProgress& progress) {
    double& first = begun[progress.phase == LoadPhase::warming_up ? 2 : progress.bytes_done > 0 ? 1 : 0];
    if (first == 0) first = processor_seconds() - begin_worked;
    peak_anonymous = std::max(peak_anonymous, memory("RssAnon"));
    total = progress.bytes_total;
    return static_cast<double>(progress.bytes_done) * 100 < cancel_at * static_cast<double>(progress.bytes_total);
  };
  const auto begin = std::chrono::steady_clock::now();
  auto engine = load_engine_cached(options, observe, folder);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double worked = processor_seconds() - begin_worked;
  print_memory(engine ? "loaded" : "failed");
  const double source = static_cast<double>(total) / 1e9;
  fmt::print(
      "{}, {:.2f} s, {:.2f} s of processors: {:.2f} GB of source, {:.2f} GB a second of a core; anonymous {:.1f} MiB at "
      "most\n",
      engine ? name_of((*engine)->model().packed_cache) : engine.error().message, seconds, worked, source, source / worked,
      peak_anonymous);
  fmt::print("of the processors: open {:.2f} s, first weights {:.2f}, warm-up from {:.2f}\n", begun[0], begun[1], begun[2]);
  if (engine) {
    const MemoryUse& use = (*engine)->model().memory;
    const auto mib = [](std::int64_t n) { return static_cast<double>(n) / (1 << 20); };
    fmt::print("packed {:.1f} MiB, KV {:.1f}, activations {:.1f}, other {:.1f}\n", mib(use.weights), mib(use.kv),
               mib(use.activations), mib(use.other));
    for (const std::string& warning : (*engine)->model().info.warnings) fmt::print("warning: {}\n", warning);
  }
}
