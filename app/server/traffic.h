// SPDX-License-Identifier: Apache-2.0
// Traffic: counters of answered requests, by status class and by dialect.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace lathe::app {

/// The set of labels is bounded: statuses are counted by their hundreds. Thread: any.
class Traffic {
 public:
  static constexpr std::size_t kMaxDialects = 16;

  void count(int status, std::size_t dialect) {
    ++by_class_[static_cast<std::size_t>(status / 100) % by_class_.size()];
    if (dialect < kMaxDialects) ++by_dialect_[dialect];
  }
  std::uint64_t of_class(int hundreds) const { return by_class_[static_cast<std::size_t>(hundreds)]; }
  std::uint64_t of_dialect(std::size_t dialect) const { return by_dialect_[dialect]; }
  std::uint64_t errors() const { return of_class(4) + of_class(5); }
  std::uint64_t all() const {
    std::uint64_t sum = 0;
    for (const auto& n : by_class_) sum += n;
    return sum;
  }

 private:
  std::array<std::atomic<std::uint64_t>, 6> by_class_{};
  std::array<std::atomic<std::uint64_t>, kMaxDialects> by_dialect_{};
};

}  // namespace lathe::app
