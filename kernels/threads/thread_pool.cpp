// SPDX-License-Identifier: Apache-2.0
#include "kernels/threads/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>

#include "kernels/api/check.h"
#include "kernels/threads/pinning.h"
#include "kernels/threads/spin.h"

namespace lathe::kernels {
namespace {

constexpr std::uint32_t kOpenBit = 1U << 31;
constexpr std::uint32_t kInsideMask = kOpenBit - 1;

// A gap this long between two polls means that the system ran another thread on this core. Spinning then takes time from
// other threads, perhaps from the one that is waited for, so the budget is halved, down to kMinSpinNs.
constexpr std::int64_t kStolenNs = 25'000;
constexpr std::int64_t kMinSpinNs = 2'000;

}  // namespace

int n_physical_cores() { return std::max(1, static_cast<int>(physical_cores().size())); }

ThreadPool::ThreadPool(int n_threads)
    : n_threads_(std::max(1, n_threads)), may_spin_(n_threads_ <= static_cast<int>(allowed_cpus().size())) {
  try {
    start_workers();
  } catch (...) {
    stop_workers();  // workers that have started are joined when workers_ is destroyed
    throw;
  }
}

void ThreadPool::start_workers() {
  for (int thread = 1; thread < n_threads_; ++thread) {
    workers_.emplace_back([this, thread] { worker_loop(thread); });
    char name[16];
    std::snprintf(name, sizeof name, "kernels %d", thread % 1000);
    pthread_setname_np(workers_.back().native_handle(), name);
  }
}

ThreadPool::~ThreadPool() { stop_workers(); }

void ThreadPool::stop_workers() {
  stopping_.store(true);
  signal_.fetch_add(1);
  signal_.notify_all();
}

void ThreadPool::run_job(const Job& job) {
  LATHE_CHECK(!running_.exchange(true));  // nested calls, or calls from two threads
  if (n_threads_ == 1 || job.n <= job.grain) {
    for (std::int64_t begin = 0; begin < job.n; begin += job.grain) {
      job.call(job.context, begin, std::min(begin + job.grain, job.n), 0);
    }
  } else {
    if (n_shared_++ == 0) pin_workers(workers_);  // not before: a pool that only estimates memory has no job
    job_ = job;
    next_.store(0, std::memory_order_relaxed);
    gate_.fetch_or(kOpenBit);
    signal_.fetch_add(1);
    if (n_asleep_.load() > 0) signal_.notify_all();
    work_on_job(0);
    gate_.fetch_and(~kOpenBit);
    wait_until_left();
  }
  running_.store(false);
}

void ThreadPool::work_on_job(int thread) {
  for (;;) {
    const std::int64_t begin = next_.fetch_add(job_.grain, std::memory_order_relaxed);
    if (begin >= job_.n) return;
    job_.call(job_.context, begin, std::min(begin + job_.grain, job_.n), thread);
  }
}

void ThreadPool::leave_job() {
  gate_.fetch_sub(1);
  if (caller_asleep_.load() != 0) gate_.notify_one();
}

void ThreadPool::wait_until_left() {
  const auto is_left = [this] { return (gate_.load(std::memory_order_acquire) & kInsideMask) == 0; };
  if (is_left() || (may_spin_ && spin_until(is_left))) return;
  caller_asleep_.store(1);
  for (std::uint32_t gate = gate_.load(); (gate & kInsideMask) != 0; gate = gate_.load()) gate_.wait(gate);
  caller_asleep_.store(0);
}

/// True if another job than `last` appears within the budget, which shrinks when other processes use the core and grows back
/// when they do not.
bool ThreadPool::spin_for_job(std::uint32_t last, std::int64_t& budget_ns) const {
  if (!may_spin_) return false;
  const std::int64_t begin = now_ns();
  std::int64_t before = begin;
  for (int polls = 1; signal_.load(std::memory_order_relaxed) == last; ++polls) {
    pause_cpu();
    if (polls % kPollsPerClock != 0) continue;
    const std::int64_t now = now_ns();
    if (now - before > kStolenNs) {
      budget_ns = std::max(budget_ns / 2, kMinSpinNs);
      return false;
    }
    if (now - begin > budget_ns) return false;
    before = now;
  }
  budget_ns = std::min(budget_ns + budget_ns / 8, kSpinNs);
  return true;
}

void ThreadPool::worker_loop(int thread) {
  std::int64_t budget_ns = kSpinNs;
  for (std::uint32_t last = 0;;) {
    if (!spin_for_job(last, budget_ns)) {
      n_asleep_.fetch_add(1);
      signal_.wait(last);
      n_asleep_.fetch_sub(1);
    }
    if (stopping_.load()) return;
    last = signal_.load();
    // The gate closes before the job changes, so a thread that found it open on entering may read the job until it leaves.
    if ((gate_.fetch_add(1) & kOpenBit) != 0) work_on_job(thread);
    leave_job();
  }
}

}  // namespace lathe::kernels
