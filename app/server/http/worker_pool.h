// SPDX-License-Identifier: Apache-2.0
// WorkerPool: a few threads for work that would block the I/O thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe::app::http {

/// Thread: any. Callers bound the queue: one task per connection.
class WorkerPool {
 public:
  explicit WorkerPool(int n_threads);     ///< throws std::system_error if the system gives fewer threads
  ~WorkerPool();                          ///< finishes all posted tasks
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
