// SPDX-License-Identifier: Apache-2.0
// Conversions of the interface's views to the structs that kernels take.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// Converts a matrix view; a view without data gives empty Rows. Requires: rows of f32, or no data.
inline Rows rows_of(const TensorView& view) {
  if (view.data == nullptr) return {};
  LATHE_CHECK(is_rows_of_f32(view));
  return {.data = view.as<float>(), .stride = view.strides[0], .n_rows = view.dim(0), .n_columns = view.dim(1)};
}

inline NormRows norm_of(const Norm& norm) {
  LATHE_CHECK(norm.weight.dtype == Dtype::f32 && norm.weight.data != nullptr);
  return {.kind = norm.kind, .weight = norm.weight.as<float>(), .bias = norm.bias.as<float>(), .eps = norm.eps};
}

}  // namespace lathe::kernels::cuda
