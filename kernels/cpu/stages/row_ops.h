// SPDX-License-Identifier: Apache-2.0
// Row operations of the tables, called with tensors.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

// Starting the pool costs about 1 us (tests/bench/kernels), a wait for what another thread has begun no less; this many
// elements take a thread as long.
inline constexpr std::int64_t kMinElementsToShare = 16'384;

inline auto* norm_of(const OpTable& ops, const Norm& norm) { return ops.norm[static_cast<std::size_t>(norm.kind)]; }

/// Whether its weights are those of rows of n numbers.
bool is_norm_of(const Norm& norm, std::int64_t n);

/// x += delta unless it has no data; out = norm(x).
NormArgs norm_args(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm);
/// x += delta.
ElementwiseArgs add_args(const TensorView& x, const TensorView& delta);
MapArgs map_args(const TensorView& x, float parameter);
RopeArgs rope_args(const TensorView& x, int n_heads, std::span<const std::int32_t> positions, const RopeForm& form);

/// Each head of rows [begin, end) of x by itself.
void norm_heads_of_rows(const OpTable& ops, const TensorView& x, int n_heads, const Norm& norm, std::int64_t begin,
                        std::int64_t end);

}  // namespace lathe::kernels
