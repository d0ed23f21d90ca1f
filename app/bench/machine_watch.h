// SPDX-License-Identifier: Apache-2.0
// MachineWatch: looks whether the machine leaves a measurement alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/api/machine_guard.h"

namespace lathe::app {

/// What a machine does not tell is not guarded. Thread: one.
class MachineWatch {
 public:
  /// `root`: where /proc and /sys are looked for; tests bring their own. `guards_load`: false where others are meant to
  /// work: a server that is measured from outside. `own_tokens`: how many this program has computed for others than who
  /// measures, on an engine beside the measured one; empty: it has no other.
  explicit MachineWatch(std::string root = {}, bool guards_load = true, std::function<std::uint64_t()> own_tokens = {});

  void begin();  ///< of a run
  /// What was the matter since begin(), or is. Runs too short for the clock of the system are judged together.
  std::vector<MachineWarning> end();

 private:
  /// Since the machine started, or this process did. Units: ticks of the clock; pages.
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
  Counts begin_, run_;  ///< run_: of the runs that are not judged yet
};

}  // namespace lathe::app
