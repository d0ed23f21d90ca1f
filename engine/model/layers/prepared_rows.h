// SPDX-License-Identifier: Apache-2.0
// Inputs of operations that take rows where the backend's fused ones take a HalfInput, and views of a step's buffers.
#pragma once

#include "kernels/api/backend.h"

namespace lathe::engine {

/// The normalised rows of `in`, for halves whose first operation does not take a HalfInput.
kernels::TensorView prepared_rows(kernels::Backend& backend, const kernels::HalfInput& in);

/// The memory of `buffer` [M, N] as rows of `width` without gaps, for layers narrower than the widest. Requires: width <= N.
kernels::TensorView narrowed(const kernels::TensorView& buffer, std::int64_t width);

}  // namespace lathe::engine
