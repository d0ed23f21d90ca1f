// SPDX-License-Identifier: Apache-2.0
// How long a sweep takes, by what was measured before it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/api/kept_sweeps.h"

namespace lathe::app {

/// What the engine of a cell is loaded with, as text: cells with the same share an engine, and its quality is measured once.
/// Empty: all of them do.
std::string load_key(const SweepPlan& plan, std::size_t cell);
std::size_t n_loads(const SweepPlan& plan);

/// How fast a measured cell was, and what tells whether another one is like it.
struct KnownRate {
  std::string subject;  ///< path of the model, or a server and its model
  std::string format;   ///< settings without which a rate says nothing of another cell: "quantization=int8_g32;..."
  std::string policy;
  SweepWorkload workload;
  double tok_s = 0;              ///< of all answers
  std::optional<double> load_s;  ///< of its engine; empty: not seen
  std::string quality_dataset;   ///< of quality_s
  std::optional<double> quality_s;
};
/// Of all cells of a sweep that have a result.
std::vector<KnownRate> known_rates(const SweepPlan& plan, const SweepReport& report);
inline constexpr std::size_t kMostKnownRates = 512;
/// Of the journals that can still be read, in the order of `kept`; no more than kMostKnownRates.
std::vector<KnownRate> known_rates(const std::vector<KeptSweep>& kept);

/// Seconds that a plan takes: its runs, its loads, and what it asks for in quality, each cell at the rate of the one that is
/// most like it (the first of several). `measured`: cells that are done there take no time. Empty: for some cell there is no
/// rate of its model in its format, the plan replays a trace, whose lengths are not known, or it searches a highest rate:
/// nobody knows how many trials that takes.
std::optional<double> estimated_seconds(const SweepPlan& plan, std::span<const KnownRate> rates,
                                        const SweepReport* measured = nullptr);

}  // namespace lathe::app
