// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/load_runner.h"

#include <fmt/format.h>

#include "engine/base/free_memory.h"
#include "engine/model/decoder/load_weights.h"
#include "engine/run/open_backend.h"

namespace lathe::engine {
namespace {

/// The options alone cannot tell when the context comes from the checkpoint.
Result<void> check_prompt_fits_step(const EngineOptions& options, const MemoryPlan& plan) {
  if (options.enable_chunked_prefill || options.max_num_batched_tokens >= plan.limits.max_model_len) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("max_num_batched_tokens {} is less than max_model_len {}: enable_chunked_prefill, or raise it",
                          options.max_num_batched_tokens, plan.limits.max_model_len),
              "max_num_batched_tokens");
}

}  // namespace

Result<LoadedRunner> load_runner(const OpenedModel& model, const EngineOptions& options,
                                 const std::function<bool(std::int64_t)>& observe, const PackedCacheFolder& folder) {
  LoadedRunner loaded;
  LATHE_TRY(auto backend, open_backend(options.isa, options.threads));
  LATHE_TRY(loaded.plan, plan_memory(*backend, model.config, model.plan.stored_dtype, options, free_memory_bytes()));
  const MemoryPlan& plan = loaded.plan;
  LATHE_TRY_VOID(check_prompt_fits_step(options, plan));
  if (options.check_fit) LATHE_TRY_VOID(check_fit(plan));
  LATHE_TRY(Decoder decoder, Decoder::create(*backend, model.config, plan.weights, plan.limits.max_model_len));
  if (wants_packed_cache(options, folder)) {
    LATHE_TRY(loaded.cache,
              load_cached_weights(decoder, *backend, model.checkpoint, model.plan, options, folder, observe));
  } else {
    LATHE_TRY_VOID(load_weights(decoder, *backend, model.checkpoint, model.plan, observe));
  }
  LATHE_TRY(loaded.runner, ModelRunner::create(std::move(backend), std::move(decoder), plan.kv_dtype, plan.limits));
  return loaded;
}

}  // namespace lathe::engine
