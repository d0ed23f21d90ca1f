// SPDX-License-Identifier: Apache-2.0
// ThreadPool: runs chunks of [0, n) on the calling thread and its workers, for loops of microseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace lathe::kernels {

/// Thread: run() is called from one thread at a time and never from inside a body; a second call aborts.
/// Invariant: run() waits only for workers that have begun a chunk. If the system takes a worker off its core before that,
/// the other threads do its share, so a busy neighbour process costs its share of the time and no more.
class ThreadPool {
 public:
  /// n_threads counts the caller: 1 has no worker. Errors: throws std::system_error when the system provides fewer threads.
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int n_threads() const { return n_threads_; }
  /// True if each thread can have a processor, so that threads may wait for each other by polling.
  bool may_spin() const { return may_spin_; }
  /// Number of calls of run() so far that used all threads: each is a point where threads synchronize.
  std::int64_t n_shared() const { return n_shared_; }

  /// Calls body(begin, end, thread) for chunks of at most `grain` that cover [0, n). thread counts from 0 (the caller) to
  /// n_threads() - 1 and selects the scratch memory that the body may use. Requires: the body does not throw.
  template <class Body>
  void run(std::int64_t n, std::int64_t grain, const Body& body) {
    const auto call = [](const void* context, std::int64_t begin, std::int64_t end, int thread) {
      (*static_cast<const Body*>(context))(begin, end, thread);
    };
    run_job({.call = call, .context = &body, .n = n, .grain = grain < 1 ? 1 : grain});
  }

 private:
  struct Job {
    void (*call)(const void* context, std::int64_t begin, std::int64_t end, int thread) = nullptr;
    const void* context = nullptr;
    std::int64_t n = 0;
    std::int64_t grain = 1;
  };

  void start_workers();
  void stop_workers();
  void run_job(const Job& job);
  void work_on_job(int thread);
  void leave_job();
  void wait_until_left();
  void worker_loop(int thread);
  bool spin_for_job(std::uint32_t last, std::int64_t& budget_ns) const;

  const int n_threads_;
  const bool may_spin_;
  Job job_;
  std::int64_t n_shared_ = 0;
  // Each atomic is on its own cache line: the chunk counter is written often while the gate is polled.
  alignas(64) std::atomic<std::int64_t> next_{0};
  /// Low bits: number of workers inside the job; kOpenBit: workers may enter the job.
  alignas(64) std::atomic<std::uint32_t> gate_{0};
  /// Counts jobs; idle workers poll it or sleep on it.
  alignas(64) std::atomic<std::uint32_t> signal_{0};
  std::atomic<std::uint32_t> n_asleep_{0};
  std::atomic<std::uint32_t> caller_asleep_{0};
  std::atomic<bool> running_{false};
  std::atomic<bool> stopping_{false};
  std::vector<std::jthread> workers_;
};

/// Physical cores that this process may run on, at least 1.
int n_physical_cores();

}  // namespace lathe::kernels
