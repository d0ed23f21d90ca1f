// SPDX-License-Identifier: Apache-2.0
// Fills the op table of a vector type.
#pragma once

#include "kernels/cpu/ops/attention.h"
#include "kernels/cpu/ops/ceilings.h"
#include "kernels/cpu/ops/grouped_linear.h"
#include "kernels/cpu/ops/rowwise.h"

namespace lathe::kernels {
namespace {

/// ByteDot and NibbleDot: how codes of 8 and of 4 bits are multiplied.
template <class V, class ByteDot, class NibbleDot>
constexpr OpTable make_op_table() {
  return {.linear = {linear_ops<FmaLinear<V, SplitWeights<V, float>, kNeverExpand>>(),
                     linear_ops<FmaLinear<V, SplitWeights<V, F16>, 3>>(), linear_ops<FmaLinear<V, InterleavedBf16<V>, 3>>(),
                     grouped_ops<GroupedLinear<V, ByteCodes<V>, ByteDot, 32>>(),
                     grouped_ops<GroupedLinear<V, ByteCodes<V>, ByteDot, 64>>(),
                     grouped_ops<GroupedLinear<V, ByteCodes<V>, ByteDot, 128>>(),
                     grouped_ops<GroupedLinear<V, NibbleCodes<V>, NibbleDot, 32>>(),
                     grouped_ops<GroupedLinear<V, NibbleCodes<V>, NibbleDot, 64>>(),
                     grouped_ops<GroupedLinear<V, NibbleCodes<V>, NibbleDot, 128>>()},
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
