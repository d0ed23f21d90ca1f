// SPDX-License-Identifier: Apache-2.0
// EventRing: the last scheduler events, for readers who come at their own pace.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "engine/api/scheduler_event.h"

namespace lathe::engine {

/// Numbers the events as they come and keeps the last `capacity` of them. Thread: append from one, the rest from any.
class EventRing {
 public:
  explicit EventRing(std::size_t capacity) : events_(capacity) {}

  void append(std::span<const SchedulerEvent> events);
  /// Events with number >= cursor that are still here, oldest first; moves the cursor behind them.
  std::vector<SchedulerEvent> since(std::uint64_t& cursor) const;
  /// The number that the next event gets.
  std::uint64_t next() const;

 private:
  mutable std::mutex mutex_;
  std::vector<SchedulerEvent> events_;  ///< event number i at i % capacity
  std::uint64_t next_ = 0;
};

}  // namespace lathe::engine
