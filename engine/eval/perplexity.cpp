// SPDX-License-Identifier: Apache-2.0
// Perplexity: exp of the mean negative log probability of each next token.
#include "engine/eval/token_losses.h"

namespace lathe::engine {

Result<PerplexityReport> measure_perplexity(const EngineOptions& options, const EvalPlan& plan, const EvalObserver& observer,
                                            const PackedCacheFolder& folder) {
  LATHE_TRY(Scorer scorer, Scorer::open(options, plan, observer, folder));
  Evaluation evaluation(plan, {&scorer});
  TokenLosses losses;
  LATHE_TRY_VOID(evaluation.run([&](const ReadPart& part) { return losses.add(part, 0, scorer); }, observer,
                                [&] { return losses.perplexity(); }));
  PerplexityReport report = losses.report(evaluation);
  report.warnings = scorer.warnings();
  return report;
}

}  // namespace lathe::engine
