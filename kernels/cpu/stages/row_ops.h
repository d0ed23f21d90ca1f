// SPDX-License-Identifier: Apache-2.0
// Calls the row operations of an OpTable on tensors.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

// Least number of elements that are shared among threads. Starting the pool costs about 1 us (tests/bench/kernels), and
// waiting for a chunk that another thread has begun costs no less; one thread processes this many elements in that time.
inline constexpr std::int64_t kMinElementsToShare = 16'384;

inline auto* norm_of(const OpTable& ops, const Norm& norm) { return ops.norm[static_cast<std::size_t>(norm.kind)]; }

/// True if weight and bias of the norm have n elements.
bool is_norm_of(const Norm& norm, std::int64_t n);

/// Arguments of: x += delta, if delta has data; out = norm(x).
NormArgs norm_args(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm);
/// Arguments of: x += delta.
ElementwiseArgs add_args(const TensorView& x, const TensorView& delta);
MapArgs map_args(const TensorView& x, float parameter);
/// Arguments of: each gate scales the same number of consecutive columns of x.
SigmoidArgs sigmoid_args(const TensorView& x, const TensorView& gate);
RopeArgs rope_args(const TensorView& x, int n_heads, std::span<const std::int32_t> positions, const RopeForm& form);

/// Normalises each head of rows [begin, end) of x by itself.
void norm_heads_of_rows(const OpTable& ops, const TensorView& x, int n_heads, const Norm& norm, std::int64_t begin,
                        std::int64_t end);

}  // namespace lathe::kernels
