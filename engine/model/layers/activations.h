// SPDX-License-Identifier: Apache-2.0
// Activations: the work memory of a step, allocated once for the largest step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model/layers/device_tensor.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// Views of the buffers for one step. Shapes: M rows, R rows with logits, H hidden, V vocabulary; all f32. `chosen`,
/// `expert_rows` and `expert_weights` are in host memory, so the host may use them while operations run: it chooses the
/// experts for backends without PackedExperts. `router_logits`, `shared_gate`, `token_inputs`,
/// `token_gate`, `streams`, `stream_router`, `mlp_gate`, `mlp_up`, and `residual` of models with several streams are in
/// backend memory that the host reads too (Backend::allocate); the other views are in memory of the device
/// (Backend::allocate_on_device).
struct StepBuffers {
  kernels::TensorView residual;        ///< [M, H]
  kernels::TensorView normed;          ///< [M, H]
  kernels::TensorView delta;           ///< [M, H], the output of attention or MLP, to be added to the residual stream
  kernels::TensorView qkv;             ///< [M, q_size + 2 kv_size]
  kernels::TensorView attention;       ///< [M, q_size]
  kernels::TensorView attention_gate;  ///< [M, n_attention_gates]
  kernels::TensorView q_a_proj;        ///< [M, R_q], the latent of Q; of latent attention, else of width 0
  kernels::TensorView heads;           ///< [M, n_heads times the wider of Q and V]; of latent attention, else of width 0
  kernels::TensorView output_gate;     ///< [M, q_size] if attention has one, else of width 0
  kernels::TensorView delta_in;        ///< [M, qkv_size + v_size], Q, K, V and the gate; of gated delta net, else of width 0
  kernels::TensorView delta_gates;     ///< [M, 2 n_heads]; as delta_in
  kernels::TensorView delta_out;       ///< [M, v_size]; as delta_in
  kernels::TensorView conv_in;         ///< [M, 3 H] of short convolutions, else of width 0
  kernels::TensorView router_logits;   ///< [M, n_experts]; this and the next seven are of width 0 without experts
  kernels::TensorView routed;          ///< [M, 2 top_k], the experts of Backend::route()
  kernels::TensorView chosen;          ///< [M, 2 top_k], top_k elements of type Chosen
  kernels::TensorView expert_in;       ///< [M, H], rows of one expert
  kernels::TensorView expert_out;      ///< [M, H]
  kernels::TensorView expert_rows;     ///< [M, top_k] i32, indices of rows, sorted by expert
  kernels::TensorView expert_weights;  ///< [M, top_k], the weights of expert_rows; then those of the shared expert
  kernels::TensorView shared_gate;     ///< [M, 1]
  kernels::TensorView dense_out;       ///< [M, H], output of the MLP in layers that have experts too; else of width 0
  kernels::TensorView token_inputs;   ///< [M, L P], the per-layer embeddings of all layers; else of width 0, as the next two
  kernels::TensorView token_proj;     ///< [M, L P]
  kernels::TensorView token_gate;     ///< [M, P]
  kernels::TensorView streams;        ///< [M, S H], all residual streams side by side; else of width 0, as the next two
  kernels::TensorView stream_router;  ///< [M, S]
  kernels::TensorView laurel;         ///< [M, rank]
  kernels::TensorView mlp_gate;       ///< [M, I], of layers with activation_sparsity; else of width 0
  kernels::TensorView mlp_up;         ///< [M, I]
  kernels::TensorView embedded;       ///< [M, E], rows of the embedding table if projected to H; else E is 0
  kernels::TensorView last;           ///< [R, H], rows of the residual stream that need logits
  kernels::TensorView last_normed;    ///< [R, H]
  kernels::TensorView projected;      ///< [R, E], input of the head if projected back to the embedding size E
  kernels::TensorView logits;         ///< [R, V]; without a head of width 0
};

/// Owns: the memory of the views of StepBuffers, buffers of the backend and an array of the host.
class Activations {
 public:
  /// Errors: resource_exhausted.
  static Result<Activations> create(kernels::Backend& backend, const ModelConfig& config, std::int64_t max_rows,
                                    std::int64_t max_logit_rows);
  /// Units: bytes that create() takes, host memory included.
  static std::int64_t n_bytes(const ModelConfig& config, std::int64_t max_rows, std::int64_t max_logit_rows);

  /// Requires: at most the rows that create() was given.
  StepBuffers for_step(std::int64_t n_rows, std::int64_t n_logit_rows) const;
  std::int64_t n_bytes() const { return static_cast<std::int64_t>(device_.n_bytes() + shared_.n_bytes() + host_.size()); }
  /// Units: bytes of the backend memory that are in the process's memory now. nullopt if the system does not report them.
  std::optional<std::int64_t> resident_bytes() const;

 private:
  kernels::Buffer device_;  ///< the host does not access it
  kernels::Buffer shared_;  ///< of experts and per-layer embeddings: the host reads it between operations
  std::vector<std::byte> host_;
  StepBuffers whole_;
};

}  // namespace lathe::engine
