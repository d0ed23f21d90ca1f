// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/series_history.h"

#include <cmath>
#include <limits>

namespace lathe::ui {
namespace {

// Samples per span: enough for a point per one or two pixels in a chart 300 pixels wide, few enough to replot in under a
// millisecond.
constexpr std::array<double, 3> kBucketSeconds{0.1, 0.5, 5.0};
constexpr std::size_t kMaxSamples = 720;

}  // namespace

double seconds_of(Span span) {
  switch (span) {
    case Span::half_minute: return 30;
    case Span::five_minutes: return 300;
    case Span::hour: return 3600;
  }
  return 30;
}

SeriesHistory::SeriesHistory(std::size_t n_series) : n_series_(n_series) {
  for (std::size_t i = 0; i < rings_.size(); ++i) rings_[i].bucket_s = kBucketSeconds[i];
}

void SeriesHistory::append(double time_s, const std::vector<double>& values) {
  for (Ring& ring : rings_) append(ring, time_s, values);
}

void SeriesHistory::append(Ring& ring, double time_s, const std::vector<double>& values) const {
  const bool opens_bucket = ring.samples.empty() || time_s >= ring.bucket_begin_s + ring.bucket_s;
  if (opens_bucket) {
    // Erasing at the front moves 720 small samples at most ten times a second: cheaper than a ring buffer that every reader
    // must unroll.
    if (ring.samples.size() == kMaxSamples) ring.samples.erase(ring.samples.begin());
    ring.bucket_begin_s = time_s;
    ring.samples.push_back({time_s, std::vector<double>(n_series_, std::numeric_limits<double>::quiet_NaN())});
    ring.n_merged.assign(n_series_, 0);
  }
  Sample& last = ring.samples.back();
  for (std::size_t i = 0; i < n_series_ && i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    const int n = ++ring.n_merged[i];
    last.values[i] = n == 1 ? values[i] : last.values[i] + (values[i] - last.values[i]) / n;
  }
}

const std::vector<Sample>& SeriesHistory::samples(Span span) const { return rings_[static_cast<std::size_t>(span)].samples; }

}  // namespace lathe::ui
