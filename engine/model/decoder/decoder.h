// SPDX-License-Identifier: Apache-2.0
// Decoder: embeddings, layers, final norm and head; token ids in, logits out.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cache/layer_cache.h"
#include "engine/model/layers/altup.h"
#include "engine/model/layers/decoder_layer.h"
#include "engine/model/layers/embedding.h"
#include "engine/model/layers/per_layer_embedding.h"
#include "engine/model/model_config.h"
#include "engine/model/weight_plan.h"
#include "engine/model/weight_storage.h"

namespace lathe::engine {

/// Owns: the weights. Thread: one at a time, as its backend.
class Decoder {
 public:
  /// Allocates the memory of the weights; accept() fills and quantizes it. Errors: resource_exhausted.
  static Result<Decoder> create(kernels::Backend& backend, const ModelConfig& config, const WeightStorage& storage,
                                std::int64_t max_model_len);
  /// Units: bytes of weights that create() allocates, without the tables of RoPE.
  static std::int64_t weight_bytes(const kernels::Backend& backend, const ModelConfig& config, const WeightStorage& storage);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.embedding_, self.layers_, self.final_norm_, self.embedding_out_, self.head_, self.per_layer_, self.altup_);
  }

  /// Packs one tensor of a checkpoint. `source`: the shape of shape_of(role), any floating type, aligned; for a matrix also
  /// blocks of its format, as Backend::pack_rows takes them. Tied embeddings are passed twice, the second time as the head.
  void accept(kernels::Backend& backend, WeightRole role, std::int64_t layer, const kernels::TensorView& source,
              std::int64_t expert = -1);

  /// Sets the input order of a layer's matrix; empty: the identity. Requires: a storage with input orders.
  void accept_order(WeightRole role, std::int64_t layer, std::span<const std::int32_t> order, std::int64_t expert = -1) {
    layers_[static_cast<std::size_t>(layer)].accept_order(role, order, expert);
  }

  /// The buffers that accept() fills. Empty if the backend keeps packed matrices in a form of its own.
  WeightImage image();

  /// Computes the rows of a step. Returns the hidden states [R, H] after the final norm of the rows with logits, in the
  /// buffers of the step. Requires: there are such rows.
  kernels::TensorView last_states(kernels::Backend& backend, const ModelInput& input, const LayerCache& cache,
                                  const StepBuffers& step) const;
  /// Computes step.logits from the states that last_states() has left. Requires: the model has a head.
  void make_logits(kernels::Backend& backend, const StepBuffers& step) const;
  /// Computes the rows of a step and leaves their logits in step.logits. Requires: the model has a head.
  void forward(kernels::Backend& backend, const ModelInput& input, const LayerCache& cache, const StepBuffers& step) const;
  /// Computes the rows of a step. Returns their hidden states [M, H] after the final norm, in the buffers of the step.
  kernels::TensorView hidden(kernels::Backend& backend, const ModelInput& input, const LayerCache& cache,
                             const StepBuffers& step) const;

  const ModelConfig& config() const { return config_; }
  const WeightStorage& storage() const { return storage_; }
  std::int64_t weight_bytes() const { return allocated_bytes(*this); }
  std::int64_t rope_bytes() const { return ropes_.n_bytes(); }
  const std::vector<std::int64_t>& rope_contexts() const { return ropes_.contexts(); }

 private:
  /// Plans the weights.
  Decoder(const ModelConfig& config, const WeightStorage& storage);
  void load_head(kernels::Backend& backend, const kernels::TensorView& source);
  /// Leaves the residual stream after the last layer in step.residual.
  void run_layers(kernels::Backend& backend, const ModelInput& input, const LayerCache& cache,
                  const StepBuffers& step) const;
  void gather_states(kernels::Backend& backend, const ModelInput& input, const StepBuffers& step) const;
  const kernels::TensorView& states_in(const StepBuffers& step) const {
    return config_.has_final_norm ? step.last_normed : step.last;
  }

  ModelConfig config_;
  WeightStorage storage_;
  RopeTables ropes_;
  Embedding embedding_;
  std::optional<PerLayerEmbedding> per_layer_;
  std::optional<AltUpEnds> altup_;
  std::vector<DecoderLayer> layers_;
  NormLayer final_norm_;
  std::optional<Linear> embedding_out_;  ///< [E, H], if the embedding size E differs from H
  std::optional<Linear> head_;           ///< a packed copy of the embeddings when they are tied
};

}  // namespace lathe::engine
