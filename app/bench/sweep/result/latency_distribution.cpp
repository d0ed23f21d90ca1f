// SPDX-License-Identifier: Apache-2.0
#include "app/api/latency_distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "app/api/sweep_plan.h"
#include "app/bench/sweep/result/run_latencies.h"

namespace lathe::app {
namespace {

/// Values of all requests for which the latency is above zero: a request without the tokens that delimit a latency has none.
std::vector<double> seen(const RunRecord& run, double (*of)(const SentRequest&)) {
  std::vector<double> values;
  for (const SentRequest& request : run.requests) {
    if (const double value = of(request); value > 0) values.push_back(value);
  }
  return values;
}

constexpr std::array kLatencies = {
    Latency{"ttft_ms", "Time to the first token, from the scheduled send time, of each request.",
            [](const RunRecord& run) { return seen(run, ttft_ms); }, &ServiceGoal::ttft_ms},
    Latency{"itl_ms",
            "Each gap between neighbouring tokens of a request; tokens that arrive together share the gap before them "
            "evenly. For a server that does not report its tokens: between pieces of text.",
            all_itl_ms, &ServiceGoal::itl_ms},
    Latency{"tpot_ms",
            "Time of a request from its first to its last token, divided by its tokens except the first; for each request "
            "with at least two tokens.",
            [](const RunRecord& run) { return seen(run, tpot_ms); }, &ServiceGoal::itl_ms},
    Latency{"e2e_ms", "From the scheduled send time to the last token, of each request.",
            [](const RunRecord& run) { return seen(run, e2e_ms); }}};

constexpr std::size_t kWhole = 1000;  // shares are counted in thousandths: as floats, 0.07 times 100 exceeds 7

/// Shares of the quantiles in thousandths: 0, 10, 20 ... 990, 999, 1000.
constexpr auto kShares = [] {
  std::array<std::size_t, LatencyDistribution::most_values> shares{};
  for (std::size_t i = 0; i < 100; ++i) shares[i] = 10 * i;
  shares[100] = kWhole - 1;
  shares[101] = kWhole;
  return shares;
}();

double rounded(double value) {
  const std::string text = fmt::format("{:.5g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// A value and its number of latencies. Units: thousandths of a latency.
struct Weight {
  double value = 0;
  std::size_t thousandths = 0;
};

/// Adds the weights of one part. A quantile represents the latencies between the previous quantile and itself; the first one
/// only the smallest latency.
void add_weights(const LatencyDistribution& part, std::vector<Weight>& weights) {
  if (part.n <= LatencyDistribution::most_values) {
    for (const double value : part.values) weights.push_back({value, kWhole});
    return;
  }
  weights.push_back({part.values[0], kWhole});
  for (std::size_t i = 1; i < part.values.size(); ++i) {
    const std::size_t all = (kShares[i] - kShares[i - 1]) * part.n;
    weights.push_back({part.values[i], i == 1 ? all - kWhole : all});
  }
}

}  // namespace

std::span<const Latency> latencies() { return kLatencies; }

std::size_t latency_index(std::string_view name) {
  const auto found =
      std::find_if(kLatencies.begin(), kLatencies.end(), [&](const Latency& latency) { return latency.name == name; });
  return static_cast<std::size_t>(found - kLatencies.begin());
}

std::vector<Quantile> LatencyDistribution::quantiles() const {
  std::vector<Quantile> all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share =
        n <= most_values ? static_cast<double>(i + 1) / static_cast<double>(n) : static_cast<double>(kShares[i]) / kWhole;
    all.push_back({share, values[i]});
  }
  return all;
}

double LatencyDistribution::at(double share) const {
  constexpr double kRounding = 1e-9;
  for (const Quantile& quantile : quantiles()) {
    if (quantile.share + kRounding >= share) return quantile.value;
  }
  return values.back();
}

double LatencyDistribution::share_within(double value) const {
  const auto above = std::upper_bound(values.begin(), values.end(), value);
  if (above == values.begin()) return 0;
  return quantiles()[static_cast<std::size_t>(above - values.begin()) - 1].share;
}

LatencyDistribution distribution_of(std::vector<double> latencies) {
  std::sort(latencies.begin(), latencies.end());
  LatencyDistribution distribution{.n = latencies.size(), .values = {}};
  if (distribution.n <= LatencyDistribution::most_values) {
    for (const double latency : latencies) distribution.values.push_back(rounded(latency));
    return distribution;
  }
  for (const std::size_t share : kShares) {
    const std::size_t place = std::max<std::size_t>(1, (share * distribution.n + kWhole - 1) / kWhole);
    distribution.values.push_back(rounded(latencies[place - 1]));
  }
  return distribution;
}

LatencyDistribution merged(std::span<const LatencyDistribution* const> parts) {
  std::vector<Weight> weights;
  LatencyDistribution together;
  for (const LatencyDistribution* part : parts) {
    if (part->n > 0) add_weights(*part, weights);
    together.n += part->n;
  }
  std::sort(weights.begin(), weights.end(), [](const Weight& a, const Weight& b) { return a.value < b.value; });
  if (together.n <= LatencyDistribution::most_values) {
    for (const Weight& weight : weights) together.values.push_back(weight.value);
    return together;
  }
  std::size_t below = 0, share = 0;
  for (const Weight& weight : weights) {
    below += weight.thousandths;
    // Both sides are in thousandths of a latency.
    while (share < kShares.size() && below >= std::max<std::size_t>(1, kShares[share] * together.n)) {
      together.values.push_back(weight.value);
      ++share;
    }
  }
  return together;
}

std::vector<LatencyDistribution> measure_latencies(const RunRecord& run) {
  std::vector<LatencyDistribution> all;
  for (const Latency& latency : kLatencies) all.push_back(distribution_of(latency.of(run)));
  return all;
}

}  // namespace lathe::app
