// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/worker_pool.h"

#include <pthread.h>

namespace lathe::app::http {

WorkerPool::WorkerPool(int n_threads) {
  try {
    for (int i = 0; i < n_threads; ++i) {
      threads_.emplace_back([this] { work(); });
      pthread_setname_np(threads_.back().native_handle(), "lathe-worker");
    }
  } catch (...) {
    finish();  // the threads that have started wait for tasks
    throw;
  }
}

WorkerPool::~WorkerPool() { finish(); }

void WorkerPool::finish() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  threads_.clear();
}

void WorkerPool::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void WorkerPool::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }
}

}  // namespace lathe::app::http
