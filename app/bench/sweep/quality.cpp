// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/quality.h"

#include "app/bench/text_dataset.h"
#include "engine/api/evaluate.h"

namespace lathe::app {

engine::Result<QualityRecord> measure_quality(const std::string& dataset, const engine::EngineOptions& options,
                                              const std::function<bool()>& go_on) {
  LATHE_TRY(TextDataset texts, read_text_dataset(dataset));
  const engine::EvalPlan plan{.texts = std::move(texts.texts),
                              .protocol = texts.is_list ? engine::EvalProtocol::cut : engine::EvalProtocol::sliding};
  engine::EngineOptions reference = options;
  const engine::EngineOptions usual;
  reference.quantization = usual.quantization;
  reference.kv_cache_dtype = usual.kv_cache_dtype;
  LATHE_TRY(const engine::DivergenceReport report,
            engine::measure_divergence(reference, options, plan, [&](const engine::EvalProgress&) { return go_on(); }));
  const engine::Interval& perplexity = report.tested.perplexity;
  return QualityRecord{.perplexity = perplexity.mean,
                       .perplexity_ci95 = (perplexity.high - perplexity.low) / 2,
                       .kl_mean = report.kl.mean,
                       .kl_99 = report.kl_99,
                       .same_best = report.same_best};
}

}  // namespace lathe::app
