// SPDX-License-Identifier: Apache-2.0
// Weights of the fake device, read by the layout of their matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/ops/ops.h"

namespace lathe::tests {

/// Scale of a unit, and its zero point or minimum.
struct UnitScale {
  float scale = 1, other = 0;
};

/// Requires that weights and scales are in one allocation.
void check_matrix(const kernels::cuda::StoredMatrix& matrix);
inline bool is_coded(const kernels::cuda::StoredMatrix& matrix) {
  return matrix.layout.scales != kernels::cuda::ScaleKind::none;
}
/// Values of a row before they are scaled, [padded_k].
std::vector<float> values_of_row(const kernels::cuda::StoredMatrix& matrix, std::int64_t row);
std::vector<UnitScale> scales_of_row(const kernels::cuda::StoredMatrix& matrix, std::int64_t row, std::int64_t n_units);

}  // namespace lathe::tests
