// SPDX-License-Identifier: Apache-2.0
// EventRing: a ring buffer of the last scheduler events, for readers at any pace.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "engine/api/scheduler_event.h"

namespace lathe::engine {

/// Numbers events consecutively and keeps the last `capacity` of them. Thread: append from one thread, the rest from any.
class EventRing {
 public:
  explicit EventRing(std::size_t capacity) : events_(capacity) {}

  void append(std::span<const SchedulerEvent> events);
  /// Events with a number >= cursor that are still kept, oldest first; moves the cursor past them.
  std::vector<SchedulerEvent> since(std::uint64_t& cursor) const;
  /// The number that the next event gets.
  std::uint64_t next() const;

 private:
  mutable std::mutex mutex_;
  std::vector<SchedulerEvent> events_;  ///< event i is stored at i % capacity
  std::uint64_t next_ = 0;
};

}  // namespace lathe::engine
