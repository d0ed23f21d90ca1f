// SPDX-License-Identifier: Apache-2.0
// Operations of a decoder as plain loops over elements, summed in double: the oracle of every test.
#pragma once

#include <span>

#include "kernels/api/backend.h"

namespace lathe::kernels::reference {

// Shapes and equations: kernels/api/backend.h, at the operation of the same name.
void embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids);
void norm(const TensorView& out, const TensorView& x, const Norm& norm);
void norm_heads(const TensorView& x, int n_heads, const Norm& norm);
void add(const TensorView& x, const TensorView& delta);
/// weights: [n, k] of any floating type, row-major.
void linear(const TensorView& out, const TensorView& x, const TensorView& weights, const TensorView& bias);
void rope(const TensorView& x, int n_heads, int head_dim, int rotary_dim, std::span<const std::int32_t> positions,
          const TensorView& cos, const TensorView& sin, RopeStyle style);
void scale(const TensorView& x, float factor);
void clamp(const TensorView& x, float limit);
void soft_cap(const TensorView& x, float cap);
void scale_by_sigmoid(const TensorView& x, const TensorView& gate);
/// x = activation(x).
void activate(const TensorView& x, Activation activation);
/// Applies the activation's change of `up`, the values that the gate is multiplied with, in place.
void prepare_gated(const TensorView& up, Activation activation);
/// x = x * y.
void multiply(const TensorView& x, const TensorView& y);
void add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
              std::span<const float> factors);
void gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows);
/// out[m][i] = x[m][columns[i]].
void gather_columns(const TensorView& out, const TensorView& x, std::span<const std::int32_t> columns);

/// Layout of a layer: K [block, kv_head, offset, head_dim], then V in the same order; int8: then the scales of K and of V.
std::size_t kv_layer_bytes(const KvShape& shape);
void kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v, std::span<const std::int32_t> slots);
void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer, const AttentionBatch& batch,
               const AttentionForm& form);

}  // namespace lathe::kernels::reference
