// SPDX-License-Identifier: Apache-2.0
// MachineWatch: detects what on the machine disturbs a measurement: other load, swapping, a throttled clock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/api/machine_guard.h"

namespace lathe::app {

/// Guards whose value the system does not report are skipped. Thread: one.
class MachineWatch {
 public:
  /// `root`: prefix of /proc and /sys; tests set it. `guards_load`: false if load by other processes is expected: a measured
  /// server runs outside of this process. `own_tokens`: reads how many tokens this program has computed for others than the
  /// benchmark, on an engine next to the measured one; empty: there is no such engine.
  explicit MachineWatch(std::string root = {}, bool guards_load = true, std::function<std::uint64_t()> own_tokens = {});

  void begin();  ///< starts a run
  /// Returns the warnings of the run since begin(). CPU load of runs shorter than kEnoughTicks is summed and judged
  /// together.
  std::vector<MachineWarning> end();

 private:
  /// Counters since boot or since the start of this process. Units: clock ticks; `swapped`: pages.
  struct Counts {
    double busy = 0, all = 0, own = 0, swapped = 0;
    std::uint64_t own_tokens = 0;
  };
  Counts counts() const;
  double battery() const;
  double governor() const;
  double memory() const;
  double other_load();

  const std::string root_;
  const bool guards_load_;
  const std::function<std::uint64_t()> own_tokens_;
  Counts begin_, run_;  ///< run_: sums of the runs whose load is not judged yet
};

}  // namespace lathe::app
