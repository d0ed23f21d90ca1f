// SPDX-License-Identifier: Apache-2.0
// LatencyDistribution: distribution of the latencies of a run, or of all runs of a cell, in bounded space.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace lathe::app {

struct RunRecord;
struct ServiceGoal;

/// A latency of which a run has many values. Units: milliseconds.
struct Latency {
  std::string_view name;                            ///< "ttft_ms"
  std::string_view definition;                      ///< one sentence
  std::vector<double> (*of)(const RunRecord& run);  ///< observed values of a run
  double ServiceGoal::* goal = nullptr;             ///< limit of this latency in a ServiceGoal; null: none
};
/// THE TABLE of latencies.
std::span<const Latency> latencies();
/// Ratio of the largest to the smallest value above which an axis is logarithmic.
inline constexpr double kRatiosFrom = 30;
/// Index in the table. Requires: a latency of that name.
std::size_t latency_index(std::string_view name);

/// A share of the latencies is at most `value`.
struct Quantile {
  double share = 0, value = 0;
};

/// The latencies of a run, or the quantiles of many latencies, with five significant digits, so that a line of a journal
/// stays short.
struct LatencyDistribution {
  std::size_t n = 0;  ///< number of observed latencies
  /// All latencies, ascending, if there are at most most_values; else the quantiles at the shares 0, 0.01, ... 0.99, 0.999
  /// and 1. A chart cannot show more than hundredths, which include the table's p50 and p99; the thousandth shows the tail.
  std::vector<double> values;

  static constexpr std::size_t most_values = 102;
  /// All values with their shares, ascending up to share 1; the first share is 0 if values are quantiles, else above 0.
  std::vector<Quantile> quantiles() const;
  /// The smallest value that `share` of the latencies do not exceed. Requires: n > 0.
  double at(double share) const;
  /// Share of the latencies that do not exceed `value`, to a hundredth if values are quantiles.
  double share_within(double value) const;
};

LatencyDistribution distribution_of(std::vector<double> latencies);
/// Merges distributions, weighted by their numbers of latencies. The result is exact if all have at most most_values
/// together; else each quantile is between the true quantiles of its share and of the parts' next share, a hundredth above.
LatencyDistribution merged(std::span<const LatencyDistribution* const> parts);

/// The distributions of a run, one for each of latencies(), in their order.
std::vector<LatencyDistribution> measure_latencies(const RunRecord& run);

}  // namespace lathe::app
