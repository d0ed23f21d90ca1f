// SPDX-License-Identifier: Apache-2.0
// SlotPool: the slots of recurrent states, of which each running sequence has one. It is the same in all recurrent layers.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/check.h"

namespace lathe::engine {

/// Slots are numbers; StateStorage has their memory. A slot that comes back is given out first, so that few sequences touch
/// little memory.
/// Thread: the engine's.
class SlotPool {
 public:
  explicit SlotPool(int n_slots) : n_slots_(n_slots) {
    free_.reserve(static_cast<std::size_t>(n_slots));
    for (int slot = n_slots; slot-- > 0;) free_.push_back(slot);
  }

  int n_slots() const { return n_slots_; }
  int n_used() const { return n_slots_ - static_cast<int>(free_.size()); }
  /// Requires: a slot is free.
  std::int32_t take() {
    LATHE_CHECK(!free_.empty());
    const std::int32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  /// Requires: a slot that was taken.
  void release(std::int32_t slot) {
    LATHE_DCHECK(slot >= 0 && slot < n_slots_ && n_used() > 0);
    free_.push_back(slot);
  }

 private:
  int n_slots_;
  std::vector<std::int32_t> free_;
};

}  // namespace lathe::engine
