// SPDX-License-Identifier: Apache-2.0
// The product that linear() with weights in codes gives by its definition: both sides rounded to codes, the sum of products
// exact.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/formats/tensor_codes.h"
#include "kernels/selftest/random_tensor.h"

namespace lathe::tests {

/// All formats that have codes.
const std::vector<kernels::WeightFormat>& coded_formats();
/// The codes of a tensor, made by the calling thread.
kernels::TensorCodes codes_of(kernels::WeightFormat format, const kernels::TensorView& weights);

/// The largest error of `got` [m, n] against x * weights^T + bias, in f32, relative to the largest result. For formats with
/// minimums, where terms of scales and minimums cancel, it is relative to the largest sum of their magnitudes. `bias` may be
/// empty.
double error_of_product(kernels::WeightFormat format, const kernels::TensorView& got, const kernels::TensorView& x,
                        const kernels::TensorView& weights, const kernels::TensorView& bias = {});
/// The most that may be. Sums of a group of whole numbers are exact, those of floats are not.
double tolerance_of(kernels::WeightFormat format);

}  // namespace lathe::tests
