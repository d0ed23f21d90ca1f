// SPDX-License-Identifier: Apache-2.0
// LatestValue: one thread publishes a value, any thread reads the newest; neither waits for the other's work.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace lathe::engine {

/// Owns: the newest value, shared with its readers. The lock covers only a pointer swap.
template <class T>
class LatestValue {
 public:
  explicit LatestValue(std::shared_ptr<const T> first) : value_(std::move(first)) {}

  void publish(std::shared_ptr<const T> value) {
    const std::lock_guard lock(mutex_);
    value_.swap(value);  // the old value is destroyed with the argument, after the lock
  }

  /// The newest value; never null if the first value was not.
  std::shared_ptr<const T> get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
};

}  // namespace lathe::engine
