// SPDX-License-Identifier: GPL-3.0-or-later
// SeriesHistory: the samples of a live chart over half a minute, five minutes and an hour, with one ring for each span.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace lathe::ui {

enum class Span { half_minute, five_minutes, hour };
inline constexpr std::array<Span, 3> kSpans{Span::half_minute, Span::five_minutes, Span::hour};

/// Units: seconds.
double seconds_of(Span span);

/// The mean of each series over a bucket of time. NaN: nothing was measured.
struct Sample {
  double time_s = 0;
  std::vector<double> values;
};

/// Units: seconds of any steady clock, rising. Invariant: at most 720 samples per span, whatever the rate of append().
class SeriesHistory {
 public:
  explicit SeriesHistory(std::size_t n_series);
  void append(double time_s, const std::vector<double>& values);
  /// The samples of a span, oldest first.
  const std::vector<Sample>& samples(Span span) const;
  bool empty() const { return samples(Span::half_minute).empty(); }

 private:
  struct Ring {
    double bucket_s = 0;
    double bucket_begin_s = -1;
    std::vector<Sample> samples;
    std::vector<int> n_merged;  ///< values merged into the last sample, per series
  };
  void append(Ring& ring, double time_s, const std::vector<double>& values) const;

  std::size_t n_series_;
  std::array<Ring, 3> rings_;
};

}  // namespace lathe::ui
