// SPDX-License-Identifier: Apache-2.0
// spin_until(): a short wait for another thread without a system call.
#pragma once

#include <chrono>
#include <cstdint>

namespace lathe::kernels {

/// Longest wait by polling. Between two operations of a step the engine thread works alone for 1-20 us; waking a sleeping
/// thread costs 5-50 us. Units: ns.
inline constexpr std::int64_t kSpinNs = 50'000;
inline constexpr int kPollsPerClock = 32;

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline void pause_cpu() { __builtin_ia32_pause(); }

/// Polls until `condition` is true. False if that takes longer than kSpinNs.
template <class Condition>
bool spin_until(const Condition& condition) {
  const std::int64_t begin = now_ns();
  for (int polls = 1;; ++polls) {
    if (condition()) return true;
    pause_cpu();
    if (polls % kPollsPerClock == 0 && now_ns() - begin > kSpinNs) return false;
  }
}

}  // namespace lathe::kernels
