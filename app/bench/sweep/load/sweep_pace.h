// SPDX-License-Identifier: Apache-2.0
// SweepPace: estimates the remaining time of a running sweep from the time of its completed cells.
#pragma once

#include <cstddef>

namespace lathe::app {

/// Cells share engines, so work done once per engine (loading, measuring its quality) is counted separately. Units: seconds.
class SweepPace {
 public:
  void add_engine(double seconds) { add(engines_, seconds); }
  void add_cell(double seconds) { add(cells_, seconds); }  ///< time of the cell's runs
  /// Remaining time; 0: unknown yet.
  double left(std::size_t n_engines, std::size_t n_cells) const {
    if (cells_.n == 0) return 0;
    return engines_.mean() * static_cast<double>(n_engines) + cells_.mean() * static_cast<double>(n_cells);
  }

 private:
  struct Sum {
    double seconds = 0;
    std::size_t n = 0;
    double mean() const { return n > 0 ? seconds / static_cast<double>(n) : 0; }
  };
  static void add(Sum& sum, double seconds) {
    sum.seconds += seconds;
    ++sum.n;
  }

  Sum engines_, cells_;
};

}  // namespace lathe::app
