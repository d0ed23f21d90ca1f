// SPDX-License-Identifier: Apache-2.0
// LatestValue: one thread publishes a value, any thread reads the newest; nobody waits for anybody's work.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace lathe::engine {

/// Owns: the newest value, together with those who still read it. The lock covers a pointer swap and nothing else.
template <class T>
class LatestValue {
 public:
  explicit LatestValue(std::shared_ptr<const T> first) : value_(std::move(first)) {}

  void publish(std::shared_ptr<const T> value) {
    const std::lock_guard lock(mutex_);
    value_.swap(value);  // the old value dies with the argument, after the lock
  }

  /// Never null when the first value was not.
  std::shared_ptr<const T> get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
};

}  // namespace lathe::engine
