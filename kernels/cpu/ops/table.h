// SPDX-License-Identifier: Apache-2.0
// Fills the op table of a vector type.
#pragma once

#include "kernels/cpu/ops/attention.h"
#include "kernels/cpu/ops/ceilings.h"
#include "kernels/cpu/ops/linear.h"
#include "kernels/cpu/ops/rowwise.h"

namespace lathe::kernels {
namespace {

template <class V>
constexpr OpTable make_op_table() {
  return {.tile_panels = panels_for<V>,
          .linear = {linear_ops<FmaLinear<V, SplitWeights<V, float>, kNeverExpand>>(),
                     linear_ops<FmaLinear<V, SplitWeights<V, F16>, 3>>(), linear_ops<FmaLinear<V, InterleavedBf16<V>, 3>>()},
          .rms_norm = rms_norm<V>,
          .rope = rope<V>,
          .add = add<V>,
          .silu_mul = silu_mul<V>,
          .attend = attend<V>,
          .read_bytes = read_bytes<V>,
          .multiply_add = multiply_add<V>,
          .bf16_dot = nullptr};
}

}  // namespace
}  // namespace lathe::kernels
