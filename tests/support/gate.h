// SPDX-License-Identifier: Apache-2.0
// Gate: holds a thread until a test lets it pass.
#pragma once

#include <condition_variable>
#include <mutex>

namespace lathe::tests {

/// Holds a thread until the test opens it.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void wait_until_someone_waits() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false, waiting_ = false;
};

}  // namespace lathe::tests
