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
  std::int64_t block_bytes = 0;    ///< one KV block in all layers
  std::int64_t context_bytes = 0;  ///< the KV blocks of one context of max_model_len
  /// States of recurrent layers for max_num_seqs sequences, and snapshots of them; parts of estimate.kv.
  std::int64_t state_bytes = 0, snapshot_bytes = 0;
  /// The KV cache is to take what the load leaves of `budget` (size_device_cache()): limits and estimate say what is
  /// expected.
  bool fills_device = false;
  std::int64_t budget = 0;        ///< bytes that gpu_memory_utilization allows the model, with its cache
  std::int64_t device_bytes = 0;  ///< memory of the device
  /// If the plan does not fit: bytes of the KV cache, and its tokens, that would fit next to weights and activations sized
  /// for the requested context. A shorter context needs less, so that some more may fit.
  std::int64_t fitting_kv_bytes = 0, fitting_tokens = 0;
  std::vector<std::string> warnings;
};

/// Most blocks that a KV cache gets where nobody asks for a number: 4 million tokens in blocks of 16. The entries of
/// the block pool are in memory of the host.
inline constexpr std::int64_t kMostAutomaticBlocks = std::int64_t{1} << 18;

/// Plans a load. `free`: bytes that may be allocated; nothing: unknown, and then the verdict is unknown too.
/// Errors: invalid_argument, with values, when options contradict each other or the model.
Result<MemoryPlan> plan_memory(const kernels::Backend& backend, const ModelConfig& config, const StoredWeights& stored,
                               const EngineOptions& options, std::optional<std::int64_t> free);

}  // namespace lathe::engine
