// SPDX-License-Identifier: Apache-2.0
// Linear: y = x W^T + b, with W packed for its backend. One Linear may hold several matrices of a checkpoint.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/layer_formats.h"
#include "engine/model/layers/device_tensor.h"
#include "engine/model/layers/packed_weight.h"
#include "engine/model/layers/weight_parts.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Shapes: n outputs, k inputs.
struct LinearShape {
  std::int64_t n = 0, k = 0;
  bool bias = false;
};

/// A default-constructed Linear is absent. The input order is the identity until load_order().
class Linear {
 public:
  Linear() = default;
  Linear(const MatrixForm& form, const LinearShape& shape);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.matrix_, self.order_, self.bias_);
  }
  /// Gives the matrix its input order, the identity.
  void on_allocated();

  /// Fills rows from `row_begin` on. weight: [rows, k] of any floating type.
  void load_rows(kernels::Backend& backend, std::int64_t row_begin, const kernels::TensorView& weight);
  /// Fills the bias from `row_begin` on. bias: [rows] of any floating type. Requires: the shape has a bias.
  void load_bias(kernels::Backend& backend, std::int64_t row_begin, const kernels::TensorView& bias);

  /// Sets the input order (PackedMatrix::input_order); empty: the identity. Requires: empty, or a MatrixForm that is
  /// ordered.
  void load_order(std::span<const std::int32_t> order);

  /// y [M, n] = x [M, k] W^T + b.
  void forward(kernels::Backend& backend, const kernels::TensorView& y, const kernels::TensorView& x) const {
    backend.linear(y, x, matrix_.matrix(), bias_.view());
  }

  const kernels::PackedMatrix& matrix() const { return matrix_.matrix(); }
  /// A view without data if there is no bias.
  const kernels::TensorView& bias() const { return bias_.view(); }

 private:
  DeviceTensor order_;  ///< [k] i32, or absent; the matrix reads it
  PackedWeight matrix_;
  DeviceTensor bias_;
};

}  // namespace lathe::engine
