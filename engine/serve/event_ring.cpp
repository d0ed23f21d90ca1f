// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/event_ring.h"

#include <algorithm>

namespace lathe::engine {

void EventRing::append(std::span<const SchedulerEvent> events) {
  if (events.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const SchedulerEvent& event : events) {
    SchedulerEvent& place = events_[next_ % events_.size()];
    place = event;
    place.sequence = next_++;
  }
}

std::vector<SchedulerEvent> EventRing::since(std::uint64_t& cursor) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t oldest = next_ - std::min<std::uint64_t>(next_, events_.size());
  std::vector<SchedulerEvent> found;
  for (std::uint64_t i = std::max(cursor, oldest); i < next_; ++i) found.push_back(events_[i % events_.size()]);
  cursor = next_;
  return found;
}

std::uint64_t EventRing::next() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

}  // namespace lathe::engine
