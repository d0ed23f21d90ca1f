// SPDX-License-Identifier: Apache-2.0
// Products of the fake device, which run at once. They are what the kernels of products compute.
#pragma once

#include <vector>

#include "kernels/cuda/ops/ops.h"

namespace lathe::tests {

/// x matrix^T + bias, [n_rows][n]. `handed`: sums of x over units that a kernel computed before; null: they are computed
/// here.
std::vector<float> product_now(const kernels::cuda::PreparedX& x, const kernels::cuda::StoredMatrix& matrix,
                               const float* bias, const float* handed);
/// to = act(x gate^T) * (x up^T), prepared for the product with down.
void multiply_gated_now(const kernels::cuda::PreparedX& to, const kernels::cuda::PreparedX& x,
                        const kernels::cuda::GatedMatrices& in);

}  // namespace lathe::tests
