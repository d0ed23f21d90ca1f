// SPDX-License-Identifier: GPL-3.0-or-later
// SeriesHistory: the samples of a live chart over half a minute, five minutes and an hour, each in a ring of its own.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace lathe::ui {

enum class Span { half_minute, five_minutes, hour };
inline constexpr std::array<Span, 3> kSpans{Span::half_minute, Span::five_minutes, Span::hour};

/// Units: seconds.
double seconds_of(Span span);

/// A bucket's mean of every series. NaN: nothing was measured.
struct Sample {
  double time_s = 0;
  std::vector<double> values;
};

/// Units: seconds on any steady clock, rising. Invariant: at most 720 samples a span, whatever the rate of append().
class SeriesHistory {
 public:
  explicit SeriesHistory(std::size_t n_series);
  void append(double time_s, const std::vector<double>& values);
  /// Oldest first.
  const std::vector<Sample>& samples(Span span) const;
  bool empty() const { return samples(Span::half_minute).empty(); }

 private:
  struct Ring {
    double bucket_s = 0;
    double bucket_begin_s = -1;
    std::vector<Sample> samples;
    std::vector<int> n_merged;  ///< of the last sample, per series
  };
  void append(Ring& ring, double time_s, const std::vector<double>& values) const;

  std::size_t n_series_;
  std::array<Ring, 3> rings_;
};

}  // namespace lathe::ui
