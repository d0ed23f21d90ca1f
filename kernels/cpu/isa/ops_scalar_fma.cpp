// SPDX-License-Identifier: Apache-2.0
// Ops of "scalar" on processors that fuse multiply and add.
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/isa/vec_scalar.h"
#include "kernels/cpu/ops/table.h"

namespace lathe::kernels {

namespace {
using V = VecScalar<true>;
}  // namespace

constexpr OpTable kScalarFmaOps = make_op_table<V, PlainDot<V>, PlainDot<V>>();

}  // namespace lathe::kernels
