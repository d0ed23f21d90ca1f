// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/load_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/finish_operations.h"
#include "engine/model/decoder/load_weights.h"
#include "engine/run/calibration.h"
#include "engine/run/calibration_texts.h"
#include "engine/run/open_backend.h"
#include "engine/serve/device_cache.h"
#include "engine/serve/fit_fixes.h"

namespace lathe::engine {
namespace {

/// Repeats a check of validate(), which does not know a context length from the checkpoint.
Result<void> check_prompt_fits_step(const EngineOptions& options, const MemoryPlan& plan) {
  const std::int64_t n_batched_tokens = batched_tokens(options);
  if (options.enable_chunked_prefill || n_batched_tokens >= plan.limits.max_model_len) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("max_num_batched_tokens ({}) is less than max_model_len ({}): set enable_chunked_prefill, or "
                          "raise max_num_batched_tokens",
                          n_batched_tokens, plan.limits.max_model_len),
              "max_num_batched_tokens");
}

/// Returns an observer that adds `bytes` to all values.
std::function<bool(std::int64_t)> after(std::int64_t bytes, const std::function<bool(std::int64_t)>& observe) {
  return [&observe, bytes](std::int64_t bytes_done) { return !observe || observe(bytes + bytes_done); };
}

bool smooths(const OpenedModel& model, const EngineOptions& options) {
  return storage_of(options, model.plan.stored).smoothing_alpha.has_value();
}

Result<std::vector<std::vector<std::int32_t>>> texts_for(const OpenedModel& model, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) {
    return fail(ErrorCode::model_refused,
                "this quantization is calibrated with texts, which needs a tokenizer, and the model has none",
                model.folder.name());
  }
  return calibration_tokens(*tokenizer, model.config.max_position_embeddings);
}

/// Inputs of smoothed weights other than checkpoint and options, for the key of the packed cache.
Result<std::string> smoothing_recipe(const OpenedModel& model, const Tokenizer* tokenizer, const kernels::Backend& backend) {
  LATHE_TRY(const auto texts, texts_for(model, tokenizer));
  std::string recipe = fmt::format("calibrated on {}\n", backend.info().isa);
  for (const std::vector<std::int32_t>& text : texts) recipe += fmt::format("{}\n", fmt::join(text, " "));
  return recipe;
}

/// A backend, and the plan of a load on it that passed its checks.
struct PlannedRunner {
  std::unique_ptr<kernels::Backend> backend;
  std::optional<std::int64_t> free;  ///< bytes; none: unknown
  MemoryPlan plan;
};

Result<PlannedRunner> plan_runner(const OpenedModel& model, const EngineOptions& options, std::int64_t returned_bytes) {
  PlannedRunner planned;
  LATHE_TRY(planned.backend, open_backend(backend_choice(options)));
  planned.free = free_bytes_of(*planned.backend);
  LATHE_TRY_VOID(finish_operations(*planned.backend, kLoadAdvice));  // a lost device reports no free memory
  if (planned.free) *planned.free += returned_bytes;
  LATHE_TRY(planned.plan, plan_memory(*planned.backend, model.config, model.plan.stored, options, planned.free));
  LATHE_TRY_VOID(check_prompt_fits_step(options, planned.plan));
  if (options.check_fit) LATHE_TRY_VOID(check_fit(*planned.backend, model.config, model.plan.stored, options, planned.plan));
  return planned;
}

}  // namespace

std::int64_t bytes_to_read(const OpenedModel& model, const EngineOptions& options) {
  return model.plan.n_bytes + (smooths(model, options) ? calibration_bytes(model.plan) : 0);
}

Result<Smoothing> find_smoothing(const OpenedModel& model, const Tokenizer* tokenizer, const EngineOptions& options,
                                 const std::function<bool(std::int64_t)>& observe) {
  const WeightStorage storage = storage_of(options, model.plan.stored);
  if (!storage.smoothing_alpha) return Smoothing();
  if (observe && !observe(0)) return fail(ErrorCode::cancelled, "loading was cancelled");
  LATHE_TRY(const auto texts, texts_for(model, tokenizer));
  // A separate backend frees its work memory after calibration.
  LATHE_TRY(const auto backend, open_backend(backend_choice(options)));
  return calibrate(*backend, {model.config, model.checkpoint, model.plan, storage.dtype}, texts, *storage.smoothing_alpha,
                   observe);
}

Result<LoadedRunner> load_runner(const OpenedModel& model, const Tokenizer* tokenizer, const EngineOptions& options,
                                 const RunnerObserver& observe, const PackedCacheFolder& folder) {
  LoadedRunner loaded;
  LoadPhase phase = LoadPhase::reading;  // until weights are made; the packed cache only hashes and reads
  const WeightObserver on_bytes = [&](std::int64_t bytes_done) { return !observe || observe(phase, bytes_done); };
  LATHE_TRY(PlannedRunner planned, plan_runner(model, options, 0));
  std::unique_ptr<kernels::Backend> backend = std::move(planned.backend);
  const std::optional<std::int64_t> free = planned.free;
  loaded.plan = std::move(planned.plan);
  const MemoryPlan& plan = loaded.plan;
  LATHE_TRY(Decoder decoder, Decoder::create(*backend, model.config, plan.weights, plan.limits.max_model_len));
  const auto make = [&](const WeightObserver& observer) -> Result<std::vector<std::string>> {
    phase = smooths(model, options) ? LoadPhase::calibrating : LoadPhase::converting;
    LATHE_TRY(const Smoothing smoothing, find_smoothing(model, tokenizer, options, observer));
    phase = LoadPhase::converting;
    const std::int64_t bytes_before = bytes_to_read(model, options) - model.plan.n_bytes;
    return load_weights(decoder, *backend, model.checkpoint, model.plan, after(bytes_before, observer), smoothing);
  };
  if (wants_packed_cache(options, folder)) {
    std::string recipe;
    if (smooths(model, options)) {
      LATHE_TRY(recipe, smoothing_recipe(model, tokenizer, *backend));
    }
    LATHE_TRY(loaded.cache, load_cached_weights(decoder, *backend, model.checkpoint, model.plan, options, folder,
                                                {.recipe = recipe, .make = make}, on_bytes));
  } else {
    LATHE_TRY(loaded.cache.warnings, make(on_bytes));
  }
  const RunnerLimits limits = plan.fills_device ? measuring_limits(plan, options) : plan.limits;
  LATHE_TRY(loaded.runner, ModelRunner::create(std::move(backend), std::move(decoder), plan.kv_dtype, limits));
  if (plan.fills_device) {
    LATHE_TRY(loaded.division, size_device_cache(*loaded.runner, model.plan.stored, options, free.value_or(0), loaded.plan));
  }
  return loaded;
}

Result<void> check_runner(const OpenedModel& model, const EngineOptions& options, std::int64_t returned_bytes) {
  LATHE_TRY_VOID(plan_runner(model, options, returned_bytes));
  return {};
}

}  // namespace lathe::engine
