// SPDX-License-Identifier: Apache-2.0
// SweepComparison: comparison of two sweeps in the cells that both have.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/api/sweep_report.h"

namespace lathe::app {

/// One cell of each sweep, with equal values of all settings that either sweep varies.
struct CellPair {
  std::vector<std::pair<std::string, std::string>> values;
  std::size_t a = 0, b = 0;  ///< indices of the cells in the two sweeps
};

/// A setting that neither sweep varies and that differs between them: the subject of the comparison.
struct SettingDifference {
  std::string name, a, b;
};

struct SweepComparison {
  std::vector<CellPair> cells;  ///< in the order of the first sweep
  std::vector<SettingDifference> settings;
};
/// Pairs the cells of two sweeps. If only one sweep varies a setting, its cells with the other's fixed value are paired: a
/// sweep over four policies and one with a single policy share the cells of that policy. Cells whose settings are refused
/// are not paired.
SweepComparison match_sweeps(const SweepPlan& a, const SweepPlan& b);

/// A metric of the second sweep compared with the first.
struct MetricComparison {
  Estimate a, b;                ///< n == 0: nothing was measured
  std::optional<double> ratio;  ///< second over first; none if one is missing, or the first is 0
  Verdict verdict = Verdict::unknown;
};
MetricComparison compare_metric(const SweepReport& a, const SweepReport& b, const CellPair& cell, std::size_t metric);

/// True if both sweeps generated the same tokens; nullopt if this is not known for both.
std::optional<bool> same_answers(const SweepReport& a, const SweepReport& b, const CellPair& cell);

}  // namespace lathe::app
