// SPDX-License-Identifier: Apache-2.0
#include "engine/base/histogram.h"

#include <algorithm>

namespace lathe::engine {

Histogram::Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1, 0) {}

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(bucket)];
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  ++count_;
  sum_ += value;
}

double Histogram::quantile(double q) const {
  if (count_ == 0) return 0;
  const double rank = q * static_cast<double>(count_);
  double below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const auto here = static_cast<double>(counts_[i]);
    if (here > 0 && below + here >= rank) {
      // The exact extremes replace the infinite ends of the outer buckets.
      const double low = std::max(i == 0 ? min_ : bounds_[i - 1], min_);
      const double high = std::min(i == bounds_.size() ? max_ : bounds_[i], max_);
      return low + (high - low) * std::clamp((rank - below) / here, 0.0, 1.0);
    }
    below += here;
  }
  return max_;
}

HistogramSnapshot Histogram::snapshot() const {
  return {.bounds = {bounds_.begin(), bounds_.end()}, .counts = counts_, .sum = sum_, .count = count_};
}

}  // namespace lathe::engine
