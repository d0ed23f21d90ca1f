// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: operations that keep of a sequence a state of fixed size in place of K and V of each token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// Sizes of the state that one layer keeps of a sequence: the last rows before a convolution, and a matrix for each head.
struct StateShape {
  std::int64_t conv_channels = 0;
  std::int64_t conv_kernel = 0;  ///< taps of the convolution, this row included; the state holds the rows before: one less
  std::int64_t n_heads = 0;      ///< matrices [key_dim, value_dim]
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;

  bool operator==(const StateShape&) const = default;
};

/// Most taps of a convolution.
inline constexpr std::int64_t kMaxConvKernel = 8;

/// The states of one layer, one for each slot. The layout inside a slot belongs to the backend; all of it is f32.
struct StateLayer {
  void* data = nullptr;
  StateShape shape;
  std::int64_t n_slots = 0;
};

/// A copy that a step makes of the state of one of its sequences: the state after the first n_rows rows that the sequence
/// has in the step. The copy has the bits that the slot of a sequence would have if a step ended there.
struct StateSnapshot {
  std::int32_t sequence = 0;  ///< index in the batch
  std::int32_t n_rows = 0;    ///< 1 to the sequence's rows without padding
  std::int32_t slot = 0;      ///< that the copy is written to

  bool operator==(const StateSnapshot&) const = default;
};

/// The rows of one step, grouped by sequence as in AttentionBatch. Sequence i reads and writes the state of slots[i].
/// A sequence whose first row has position 0 begins with a state of zeros, whatever its slot holds. Another one may begin
/// with the state of sources[i], which stays as it is. Requires: each slot once among `slots` and `snapshots`, and none of
/// them among the sources of other sequences. Invariant: a row's result and the state after it do not depend on the other
/// sequences, nor on how rows are divided into steps, nor on the snapshots.
struct RecurrentBatch {
  int n_seqs = 0;
  std::span<const std::int32_t> query_start;   ///< n_seqs + 1
  std::span<const std::int32_t> context_len;   ///< n_seqs, padding included
  std::span<const std::int32_t> slots;         ///< n_seqs, each slot once
  std::span<const std::int32_t> n_padding;     ///< n_seqs: the last rows of a sequence that leave its state as it is
  std::span<const std::int32_t> sources{};     ///< n_seqs: slot whose state the sequence begins with; empty: its own
  std::span<const StateSnapshot> snapshots{};  ///< ascending by sequence, then by n_rows
};

/// y[t, c] = activation(bias[c] + sum over j of weight[j, c] * x[t - (conv_kernel - 1) + j, c]), with zeros before position
/// 0.
struct ConvForm {
  TensorView weight;         ///< [conv_kernel, C] f32: the last row multiplies the present row of x
  TensorView bias{};         ///< [C] f32, or without data
  bool applies_silu = true;  ///< false: there is no activation
};

/// The gated delta rule. Source: Yang et al. 2024, Gated Delta Networks. With q and k of length 1 (x / sqrt(sum x^2 +
/// 1e-6)), q divided by sqrt(key_dim), beta = sigmoid(b) and g = -exp(A_log) softplus(a + dt_bias), each head computes
///   S = exp(g) S;  S = S + k (beta (v - S^T k))^T;  o = S^T q.
/// With r heads for each key head, heads h r to h r + r - 1 share q and k of key head h; if they are tiled, heads h,
/// h + n_key_heads, ... do.
struct DeltaForm {
  std::int64_t n_key_heads = 0;  ///< divides StateShape::n_heads
  bool is_tiled = false;
  TensorView decay_rate;  ///< [n_heads] f32: -exp(A_log)
  TensorView dt_bias;     ///< [n_heads] f32
};

/// Shapes: M rows, C channels, n heads. Rows may be strided. Padding rows have outputs of zeros or unchanged inputs.
/// Thread, errors, numerics: as Backend, of which these are operations.
class RecurrentOperations {
 public:
  virtual ~RecurrentOperations() = default;
  /// Units: bytes of a layer's state of one sequence.
  virtual std::size_t state_bytes(const StateShape& shape) const = 0;
  /// x [M, C] = the causal convolution of each channel along its sequence, in place.
  virtual void causal_conv1d(const TensorView& x, const ConvForm& form, const StateLayer& layer,
                             const RecurrentBatch& batch) = 0;
  /// out [M, n value_dim] = o. qkv [M, 2 n_key_heads key_dim + n value_dim] are rows of Q, then K, then V, gates [M, 2 n]
  /// those of b, then a; both are overwritten.
  virtual void gated_delta_rule(const TensorView& out, const TensorView& qkv, const TensorView& gates, const DeltaForm& form,
                                const StateLayer& layer, const RecurrentBatch& batch) = 0;
  /// Normalises each head of x [M, n d] by itself and multiplies it with silu(gate), in place. gate [M, n d]; weight [d] for
  /// all heads. Requires: an RMS norm.
  virtual void norm_heads_gated(const TensorView& x, std::int64_t n_heads, const Norm& norm, const TensorView& gate) = 0;
  /// x [M, n] = x * sigmoid(gate), elementwise.
  virtual void multiply_by_sigmoid(const TensorView& x, const TensorView& gate) = 0;
  /// x [M, n] = x * y, elementwise.
  virtual void multiply(const TensorView& x, const TensorView& y) = 0;
};

/// A Backend that also has the operations of recurrent layers.
class RecurrentBackend {
 public:
  virtual ~RecurrentBackend() = default;
  virtual RecurrentOperations& recurrent() = 0;
  virtual const RecurrentOperations& recurrent() const = 0;
};

/// The backend's operations of recurrent layers; null: it has none.
RecurrentOperations* recurrent_operations(Backend& backend);
const RecurrentOperations* recurrent_operations(const Backend& backend);

}  // namespace lathe::kernels
