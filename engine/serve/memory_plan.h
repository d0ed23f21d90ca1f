// SPDX-License-Identifier: Apache-2.0
// MemoryPlan: formats, context and KV pool of a load, and their sizes in bytes. The loader allocates by this plan, and the
// fit estimate shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/checkpoint.h"
#include "engine/model/model_config.h"
#include "engine/model/weight_storage.h"
#include "engine/run/runner.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

struct MemoryPlan {
  WeightStorage weights = kernels::Dtype::f32;
  kernels::Dtype kv_dtype = kernels::Dtype::f32;
  RunnerLimits limits;
  FitEstimate estimate;
  std::int64_t block_bytes = 0;  ///< one KV block in all layers
  /// If the plan does not fit: bytes of the KV cache, and its tokens, that would fit next to weights and activations sized
  /// for the requested context. A shorter context needs less, so that some more may fit.
  std::int64_t fitting_kv_bytes = 0, fitting_tokens = 0;
  std::vector<std::string> warnings;
};

/// Plans a load. `free`: bytes that may be allocated; nothing: unknown, and then the verdict is unknown too.
/// Errors: invalid_argument, with values, when options contradict each other or the model.
Result<MemoryPlan> plan_memory(const kernels::Backend& backend, const ModelConfig& config, const StoredWeights& stored,
                               const EngineOptions& options, std::optional<std::int64_t> free);

}  // namespace lathe::engine
