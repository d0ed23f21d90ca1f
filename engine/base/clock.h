// SPDX-License-Identifier: Apache-2.0
// Clock: the engine's source of time, passed in so that tests and simulations can replace it.
#pragma once

#include <cstdint>

namespace lathe::engine {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Units: nanoseconds of a monotonic clock.
  virtual std::int64_t now_ns() const = 0;
};

/// The clock of std::chrono::steady_clock. Thread: any.
class SteadyClock final : public Clock {
 public:
  std::int64_t now_ns() const override;
};

inline double ms_between(std::int64_t begin_ns, std::int64_t end_ns) {
  return static_cast<double>(end_ns - begin_ns) * 1e-6;
}
inline double seconds_between(std::int64_t begin_ns, std::int64_t end_ns) {
  return static_cast<double>(end_ns - begin_ns) * 1e-9;
}

}  // namespace lathe::engine
