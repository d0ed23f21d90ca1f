// SPDX-License-Identifier: Apache-2.0
// ModelRunner: a Runner that consists of a decoder, its backend, its KV cache and its work memory.
#pragma once

#include <memory>
#include <optional>

#include "engine/api/memory_use.h"
#include "engine/cache/layer_cache.h"
#include "engine/model/decoder/decoder.h"
#include "engine/model/layers/activations.h"
#include "engine/run/chunk_rows.h"
#include "engine/run/runner.h"
#include "engine/run/state_sum.h"

namespace lathe::engine {

/// Units: bytes.
struct RunnerMemory {
  std::int64_t weights = 0, activations = 0, rope = 0, work = 0;
  std::int64_t kv = 0;  ///< the layers' cache: blocks of K and V, and states of recurrent layers
};

/// Owns: backend, decoder, cache and work memory. Steps allocate no further buffers.
class ModelRunner final : public Runner {
 public:
  /// Allocates the KV cache and the work memory for `limits`; limits.window and rope_contexts are replaced by the decoder's.
  /// Requires: each of limits.windows is the window of some layers, and shorter than that of the others. A model with
  /// recurrent layers has limits.n_state_slots and a backend with their operations.
  /// Errors: resource_exhausted.
  static Result<std::unique_ptr<ModelRunner>> create(std::unique_ptr<kernels::Backend> backend, Decoder decoder,
                                                     kernels::Dtype kv_dtype, const RunnerLimits& limits);

  const RunnerLimits& limits() const override { return limits_; }
  Result<StepOutput> run(const BatchPlan& plan) override;
  /// Sets how run() pools the texts of a model without a head. For all but the last state a text must be one step.
  void set_pooling(Pooling pooling) { sum_ = StateSum(pooling, config().hidden_size); }
  /// Hidden states [M, hidden size] f32 of the rows after the final norm, valid until the next run. Errors: as run().
  Result<kernels::TensorView> hidden(const BatchPlan& plan);
  void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) override {
    backend_->parallel_for(n, body);
  }

  /// Gives the runner another KV cache of the same type, without content; the memory of the old one is freed first.
  /// Requires: `limits` differ from those of create() in their blocks and window groups alone.
  /// Errors: resource_exhausted; the runner then has no cache, and computes no more steps.
  Result<void> replace_cache(const RunnerLimits& limits);

  RunnerMemory memory() const;
  /// Bytes of the buffers that are resident in memory, without `other`. nullopt if the system does not report them.
  std::optional<MemoryUse> resident_memory();
  const ModelConfig& config() const { return decoder_.config(); }
  const kernels::BackendInfo& backend_info() const { return backend_->info(); }
  const kernels::Backend& backend() const { return *backend_; }

 private:
  Result<void> check_fits(const BatchPlan& plan);
  Result<void> check_slots(const BatchPlan& plan);
  ModelInput input_of(const BatchPlan& plan);
  /// Empty if the model has no token types; zeros if it has one.
  std::span<const std::int32_t> token_types_of(const BatchPlan& plan) const;
  /// Begins a step of the backend with the arrays of `input`.
  void begin_step(const ModelInput& input);
  /// Computes a step of which some rows answer with their state; rows without have logits.
  Result<StepOutput> run_states(const BatchPlan& plan, const ModelInput& input, const StepBuffers& step);
  /// Computes a step of a model without a head.
  Result<StepOutput> run_pooled(const BatchPlan& plan);
  /// Returns host memory for the states of `n_rows` rows, valid until the next call.
  kernels::TensorView host_states(std::int64_t n_rows);
  /// Has the best tokens computed where they suffice, and fetches the other rows of `logits`.
  StepOutput output_of(const BatchPlan& plan, const kernels::TensorView& logits);

  ModelRunner(std::unique_ptr<kernels::Backend> backend, Decoder decoder, LayerCache cache, Activations activations,
              const RunnerLimits& limits)
      : backend_(std::move(backend)),
        decoder_(std::move(decoder)),
        cache_(std::move(cache)),
        activations_(std::move(activations)),
        types_(decoder_.config().n_token_types > 0 ? static_cast<std::size_t>(limits.max_rows) : 0) {
    rope_rows_.reserve(static_cast<std::size_t>(limits.max_rows));
    wanted_rows_.reserve(static_cast<std::size_t>(limits.max_logit_rows));
    take_limits(limits);
  }
  /// Keeps the limits of the present cache, and sizes the arrays that depend on its groups.
  void take_limits(const RunnerLimits& limits);

  std::unique_ptr<kernels::Backend> backend_;  ///< declared first, so destroyed last: its memory holds the rest
  Decoder decoder_;
  LayerCache cache_;
  Activations activations_;
  RunnerLimits limits_;
  std::vector<std::int32_t> rope_rows_;                ///< of the current step
  std::vector<KvRows> kv_rows_;                        ///< of the current step, by group of layers
  ChunkRows chunk_rows_;                               ///< of the current step, if the model has layers that see chunks
  std::vector<std::int32_t> wanted_rows_;              ///< rows of the current step's logits that the host reads
  static constexpr std::size_t kArraysOfStep = 4;      ///< ids, positions, rows of RoPE, rows with logits
  std::vector<std::span<const std::int32_t>> arrays_;  ///< of the current step
  std::vector<std::uint8_t> has_slot_;                 ///< slots of states that the current step writes
  std::vector<float> states_;                          ///< of the current step: host_states()
  StateSum sum_{Pooling::last, config().hidden_size};  ///< of run_pooled()
  std::vector<std::int32_t> types_;                    ///< zeros, if the model has token types
};

/// The geometry of the KV cache that a model needs.
kernels::KvShape kv_shape(const ModelConfig& config, kernels::Dtype dtype, int block_size, int n_blocks);
/// That geometry with the layers in groups: one for each of limits.windows, and the primary group for all other layers.
KvLayers kv_layout(const ModelConfig& config, kernels::Dtype dtype, const RunnerLimits& limits);
/// The states that a model needs, each in `n_slots` slots.
StateLayers state_layout(const ModelConfig& config, int n_slots);
/// Sizes by which a backend reserves its work memory for a step.
kernels::StepShape step_shape(const ModelConfig& config, const WeightStorage& storage, std::int64_t max_rows);

}  // namespace lathe::engine
