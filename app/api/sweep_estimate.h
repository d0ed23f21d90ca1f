// SPDX-License-Identifier: Apache-2.0
// Sweep estimate: the duration of a sweep, estimated from earlier measurements.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/api/kept_sweeps.h"

namespace lathe::app {

/// The varied load options of a cell, as text: cells with equal keys share an engine, whose quality is measured once. Empty:
/// the plan varies no load option, so all cells share one engine.
std::string load_key(const SweepPlan& plan, std::size_t cell);
std::size_t n_loads(const SweepPlan& plan);

/// Measured rate of a cell, with the settings that tell how similar another cell is.
struct KnownRate {
  std::string subject;  ///< path of the model, or a server and its model
  std::string format;   ///< settings that must be equal for a rate to apply to another cell: "quantization=int8_g32;..."
  std::string policy;
  SweepWorkload workload;
  double tok_s = 0;              ///< tokens per second of all answers together
  std::optional<double> load_s;  ///< seconds of the engine's load; none: not measured
  std::string quality_dataset;   ///< dataset of quality_s
  std::optional<double> quality_s;
};
/// Rates of all cells of a sweep that have a result.
std::vector<KnownRate> known_rates(const SweepPlan& plan, const SweepReport& report);
inline constexpr std::size_t kMostKnownRates = 512;
/// Rates from the journals that can still be read, in the order of `kept`; at most kMostKnownRates.
std::vector<KnownRate> known_rates(const std::vector<KeptSweep>& kept);

/// Estimated seconds of a plan: its runs, loads and quality measurements, each cell at the rate of the most similar measured
/// cell (the first of several). Cells that are done in `measured` take no time.
/// nullopt: some cell has no rate of its model in its format, the plan replays a trace, whose lengths are not known, or it
/// searches for the highest rate, which takes an unknown number of trials.
std::optional<double> estimated_seconds(const SweepPlan& plan, std::span<const KnownRate> rates,
                                        const SweepReport* measured = nullptr);

}  // namespace lathe::app
