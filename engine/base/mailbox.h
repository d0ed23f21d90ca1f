// SPDX-License-Identifier: Apache-2.0
// Mailbox: a queue of values from many threads to one, which checks for values without a lock.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace lathe::engine {

/// Thread: put, wake and close from any thread; take_all and wait from the one reader.
template <class T>
class Mailbox {
 public:
  /// Adds a value. False when closed: the caller keeps the value.
  bool put(T& value) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      values_.push_back(std::move(value));
      has_mail_.store(true, std::memory_order_release);
    }
    changed_.notify_one();
    return true;
  }

  /// Appends all values to `out`, oldest first. Takes the lock only when there are values.
  void take_all(std::vector<T>& out) {
    if (!has_mail_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    for (T& value : values_) out.push_back(std::move(value));
    values_.clear();
    has_mail_.store(false, std::memory_order_release);
  }

  bool empty() const { return !has_mail_.load(std::memory_order_acquire); }

  /// Sleeps until there is a value or a wake() (true), or the box is closed and empty (false).
  bool wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || is_woken_ || !values_.empty(); });
    return std::exchange(is_woken_, false) || !values_.empty();
  }

  /// Lets the running wait(), or else the next one, return without a value.
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      is_woken_ = true;
    }
    changed_.notify_one();
  }

  /// Sleeps until there is a value, but at most for `time`.
  void wait_for(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return !values_.empty(); });
  }

  /// Refuses further values; values in the box can still be taken.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> values_;
  std::atomic<bool> has_mail_{false};
  bool closed_ = false, is_woken_ = false;
};

}  // namespace lathe::engine
