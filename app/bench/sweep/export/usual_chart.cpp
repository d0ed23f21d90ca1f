// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_export.h"

namespace lathe::app {

ChartChoice usual_chart(const SweepPlan& plan) {
  if (!plan.quality_dataset.empty()) return {.metric = metric_index("kl_mean"), .over = metric_index("output_tok_s")};
  return {.metric = metric_index(has_saturation(plan) ? "max_rate" : "output_tok_s")};
}

}  // namespace lathe::app
