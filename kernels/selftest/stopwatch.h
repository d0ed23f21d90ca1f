// SPDX-License-Identifier: Apache-2.0
// Stopwatch: the shortest of several timings, which on a shared machine is the one least disturbed by other processes.
#pragma once

#include <algorithm>
#include <chrono>

namespace lathe::kernels {

/// Units: seconds.
template <class Body>
double seconds_of(const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Units: seconds. Runs at least twice and then until `budget` seconds are spent.
template <class Body>
double best_seconds(double budget, const Body& body) {
  double best = 0, spent = 0;
  for (int run = 0; run < 2 || spent < budget; ++run) {
    const double seconds = seconds_of(body);
    spent += seconds;
    best = run == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

}  // namespace lathe::kernels
