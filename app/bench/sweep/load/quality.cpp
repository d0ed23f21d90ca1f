// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/quality.h"

#include <chrono>

#include "app/bench/text_dataset.h"
#include "engine/api/checkpoint.h"

namespace lathe::app {
namespace {

using engine::EngineOptions;
using engine::Result;

EngineOptions reference_of(const EngineOptions& tested) {
  EngineOptions reference = tested;
  const EngineOptions usual;
  reference.quantization = usual.quantization;
  reference.kv_cache_dtype = usual.kv_cache_dtype;
  return reference;
}

std::string key_of(const EngineOptions& options) {
  std::string key;
  for (const engine::OptionDescriptor& option : engine::engine_option_table()) key += get_option(options, option.name) + ";";
  return key;
}

/// True if the engine fits next to `held` bytes and would get no more blocks if these bytes were free.
bool fits_beside(const EngineOptions& options, std::int64_t held) {
  const auto info = engine::inspect_checkpoint(options.model);
  if (!info) return false;
  const auto together = engine::estimate_fit(*info, options), alone = engine::estimate_fit(*info, options, held);
  return together && alone && together->verdict == engine::FitVerdict::fits && together->n_blocks == alone->n_blocks;
}

}  // namespace

Result<void> QualityMeter::open(const EngineOptions& reference, const std::function<bool()>& go_on) {
  const std::string key = key_of(reference);
  if (comparison_ != nullptr && key == reference_key_) return {};
  comparison_.reset();
  LATHE_TRY(TextDataset texts, read_text_dataset(dataset_));
  engine::EvalPlan plan{.texts = std::move(texts.texts),
                        .given = std::move(texts.given),
                        .parse_special = parse_special_,
                        .protocol = texts.is_list ? engine::EvalProtocol::cut : engine::EvalProtocol::sliding};
  LATHE_TRY(comparison_, engine::open_comparison(
                             reference, std::move(plan), [&](const engine::EvalProgress&) { return go_on(); }, folder_));
  reference_key_ = key;
  return {};
}

Result<QualityRecord> QualityMeter::measure(const EngineOptions& options, const std::function<bool()>& go_on) {
  const auto begin = std::chrono::steady_clock::now();
  LATHE_TRY_VOID(open(reference_of(options), go_on));
  LATHE_TRY(const engine::DivergenceReport report,
            comparison_->measure(options, [&](const engine::EvalProgress&) { return go_on(); }));
  const engine::Interval& perplexity = report.tested.perplexity;
  return QualityRecord{.perplexity = perplexity.mean,
                       .perplexity_ci95 = (perplexity.high - perplexity.low) / 2,
                       .kl_mean = report.kl.mean,
                       .kl_99 = report.kl_99,
                       .same_best = report.same_best,
                       .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

void QualityMeter::make_room_for(const EngineOptions& options) {
  if (comparison_ != nullptr && !fits_beside(options, comparison_->reference_bytes())) comparison_.reset();
}

}  // namespace lathe::app
