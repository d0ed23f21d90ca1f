// SPDX-License-Identifier: Apache-2.0
// Stopwatch: the shortest of several timings, which on a shared machine is the one least disturbed by other processes.
#pragma once

#include <algorithm>
#include <chrono>

namespace lathe::kernels {

/// Units: seconds. Runs at least twice and then until `budget` seconds are spent.
template <class Body>
double best_seconds(double budget, const Body& body) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); };
  const auto begin = Clock::now();
  double best = 0;
  for (int run = 0; run < 2 || seconds_since(begin) < budget; ++run) {
    const auto t = Clock::now();
    body();
    const double seconds = seconds_since(t);
    best = run == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

}  // namespace lathe::kernels
