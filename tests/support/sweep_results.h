// SPDX-License-Identifier: Apache-2.0
// Results of sweeps that no engine measured.
#pragma once

#include <vector>

#include "app/api/sweep_report.h"

namespace lathe::tests {

/// A cell whose first metric (output_tok_s) has these samples; all others are 1.
inline app::CellResult cell_with_rates(std::vector<double> rates) {
  app::CellResult cell;
  for (const double rate : rates) {
    cell.samples.emplace_back(app::sweep_metrics().size(), 1.0);
    cell.samples.back()[app::metric_index("output_tok_s")] = rate;
    cell.samples.back()[app::metric_index("ttft_ms_p50")] = rate;
  }
  return cell;
}

inline app::SweepPlan plan_of_two() {
  app::SweepPlan plan;
  plan.options.model = "a model's folder";
  plan.sampling.temperature = 0;
  plan.variables = {{"concurrency", {"1", "2"}}, {"load", {"concurrency", "a|b"}}};
  return plan;
}

}  // namespace lathe::tests
