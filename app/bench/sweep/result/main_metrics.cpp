// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "app/api/sweep_metrics.h"

namespace lathe::app {
namespace {

/// Metrics of a report's table for people.
constexpr std::string_view kMainMetrics[] = {"output_tok_s", "ttft_ms_p50",   "ttft_ms_p99", "itl_ms_p50",
                                             "itl_ms_p99",   "kv_usage_peak", "padding",     "kv_reserved"};
constexpr std::string_view kTargetMetrics[] = {"output_tok_s", "ttft_ms_p50",  "ttft_ms_p99", "itl_ms_p50",
                                               "itl_ms_p99",   "tpot_ms_mean", "e2e_ms_mean"};
constexpr std::string_view kTurnMetrics[] = {"output_tok_s", "ttft_ms_p50",  "ttft_ms_p99", "itl_ms_p50",
                                             "itl_ms_p99",   "cached_share", "e2e_ms_mean"};
constexpr std::string_view kQualityMetrics[] = {"output_tok_s", "prefill_tok_s", "perplexity",   "kl_mean",
                                                "kl_99",        "same_best",     "weight_bytes", "load_s"};

constexpr std::string_view kSaturationMetrics[] = {"max_rate",    "goodput_req_s", "output_tok_s", "ttft_ms_p50",
                                                   "ttft_ms_p99", "itl_ms_p50",    "itl_ms_p99"};

}  // namespace

bool has_turns(const SweepPlan& plan) {
  return plan.workload.turns > 1 || std::any_of(plan.variables.begin(), plan.variables.end(),
                                                [](const SweepVariable& variable) { return variable.name == "turns"; });
}

bool has_saturation(const SweepPlan& plan) {
  for (const SweepVariable& variable : plan.variables) {
    if (variable.name == "load")
      return std::find(variable.values.begin(), variable.values.end(), "saturation") != variable.values.end();
  }
  return plan.workload.pattern() == LoadPattern::saturation;
}

std::span<const std::string_view> main_metrics(const SweepPlan& plan) {
  if (!plan.quality_dataset.empty()) return kQualityMetrics;
  if (has_saturation(plan)) return kSaturationMetrics;
  if (has_turns(plan)) return kTurnMetrics;
  return plan.target.url.empty() ? std::span<const std::string_view>(kMainMetrics) : kTargetMetrics;
}

}  // namespace lathe::app
