// SPDX-License-Identifier: Apache-2.0
// SweepComparison: two sweeps beside each other: what they have in common, and what the second says of it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/api/sweep_report.h"

namespace lathe::app {

/// A cell of either sweep under the same values of everything that one of them varies.
struct CellPair {
  std::vector<std::pair<std::string, std::string>> values;
  std::size_t a = 0, b = 0;  ///< indices
};

/// A setting that neither sweep varies and that is not the same in both: what the comparison is about.
struct SettingDifference {
  std::string name, a, b;
};

struct SweepComparison {
  std::vector<CellPair> cells;  ///< in the order of the first sweep
  std::vector<SettingDifference> settings;
};
/// What only one of them varies has the other's fixed value: a sweep over four policies has in common with one of a single
/// policy the cells of that one. Cells whose settings are refused have nothing in common with any.
SweepComparison match_sweeps(const SweepPlan& a, const SweepPlan& b);

/// What a metric of the second sweep says beside the first.
struct MetricComparison {
  Estimate a, b;                ///< n == 0: nothing was measured
  std::optional<double> ratio;  ///< second over first; none without both, or over nothing
  Verdict verdict = Verdict::unknown;
};
MetricComparison compare_metric(const SweepReport& a, const SweepReport& b, const CellPair& cell, std::size_t metric);

/// Whether both wrote the same tokens; none where that was not seen of both.
std::optional<bool> same_answers(const SweepReport& a, const SweepReport& b, const CellPair& cell);

}  // namespace lathe::app
