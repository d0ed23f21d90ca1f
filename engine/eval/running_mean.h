// SPDX-License-Identifier: Apache-2.0
// RunningMean: mean and 95 % confidence interval of values that are added one by one.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/api/evaluate.h"

namespace lathe::engine {

/// Source: Welford 1962.
class RunningMean {
 public:
  void add(double x) {
    ++n_;
    const double difference = x - mean_;
    mean_ += difference / static_cast<double>(n_);
    squares_ += difference * (x - mean_);
  }
  std::int64_t n() const { return n_; }
  double mean() const { return mean_; }
  Interval interval() const {
    constexpr double kNormal95 = 1.959963984540054;
    const auto n = static_cast<double>(n_);
    const double half = n_ > 1 ? kNormal95 * std::sqrt(squares_ / (n - 1) / n) : 0;
    return {mean_, mean_ - half, mean_ + half};
  }

 private:
  std::int64_t n_ = 0;
  double mean_ = 0, squares_ = 0;
};

}  // namespace lathe::engine
