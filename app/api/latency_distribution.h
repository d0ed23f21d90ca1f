// SPDX-License-Identifier: Apache-2.0
// LatencyDistribution: how the latencies of a run, or of all runs of a cell, are spread, in bounded room.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace lathe::app {

struct RunRecord;
struct ServiceGoal;

/// What a run has many values of. Units: milliseconds.
struct Latency {
  std::string_view name;                            ///< "ttft_ms"
  std::string_view definition;                      ///< one sentence
  std::vector<double> (*of)(const RunRecord& run);  ///< those that were seen
  double ServiceGoal::*goal = nullptr;              ///< that it is measured by; null: none
};
/// THE TABLE of latencies.
std::span<const Latency> latencies();
/// An axis of values further apart than this shows their ratios.
inline constexpr double kRatiosFrom = 30;
/// Place in the table. Requires: there is one of that name.
std::size_t latency_index(std::string_view name);

/// A share of the latencies is at most `value`.
struct Quantile {
  double share = 0, value = 0;
};

/// Values have five significant digits, so that a line of a journal stays short.
struct LatencyDistribution {
  std::size_t n = 0;  ///< latencies that were seen; 0: none
  /// Ascending. Up to most_values of them: each; of more the quantiles at the shares 0, 0.01, ... 0.99, 0.999 and 1.
  /// Hundredths are what a chart can show, and hold p50 and p99 of the table; the thousandth is the tail that they hide.
  std::vector<double> values;

  static constexpr std::size_t most_values = 102;
  /// Their shares rise from above 0, or from 0 where values are quantiles, to 1.
  std::vector<Quantile> quantiles() const;
  /// The smallest value that `share` of the latencies do not exceed. Requires: n > 0.
  double at(double share) const;
  /// Share of the latencies that do not exceed it, to a hundredth where values are quantiles.
  double share_within(double value) const;
};

LatencyDistribution distribution_of(std::vector<double> latencies);
/// Each part counts by its latencies: exact where all have at most most_values together; else a quantile lies between the
/// true ones of its share and of the next share of the parts, a hundredth above.
LatencyDistribution merged(std::span<const LatencyDistribution* const> parts);

/// One for each of latencies(), in their order.
std::vector<LatencyDistribution> measure_latencies(const RunRecord& run);

}  // namespace lathe::app
