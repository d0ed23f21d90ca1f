// SPDX-License-Identifier: Apache-2.0
// Histogram: counts of values in fixed buckets, with their sum and interpolated quantiles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/snapshot.h"

namespace lathe::engine {

/// Buckets are (-inf, b0], (b0, b1], ... (b_last, +inf), as in Prometheus.
/// Requires: bounds ascend and outlive the histogram. Thread: one.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds);

  void observe(double value);
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }
  /// The q-quantile, interpolated linearly inside a bucket; 0 when the histogram is empty.
  double quantile(double q) const;
  HistogramSnapshot snapshot() const;

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0, min_ = 0, max_ = 0;
};

}  // namespace lathe::engine
