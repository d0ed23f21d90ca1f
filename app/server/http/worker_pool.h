// SPDX-License-Identifier: Apache-2.0
// WorkerPool: a few threads for work that must not hold up the I/O thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe::app::http {

/// Thread: any. The queue is bounded by its users: one task a connection.
class WorkerPool {
 public:
  explicit WorkerPool(int n_threads);     ///< throws std::system_error when the system gives fewer threads
  ~WorkerPool();                          ///< finishes what was posted
  void post(std::function<void()> task);  ///< Requires: the task does not throw

 private:
  void work();
  void finish();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace lathe::app::http
