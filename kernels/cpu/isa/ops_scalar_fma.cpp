// SPDX-License-Identifier: Apache-2.0
// "scalar" on processors that fuse multiply and add.
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/isa/vec_scalar.h"
#include "kernels/cpu/ops/table.h"

namespace lathe::kernels {

constexpr OpTable kScalarFmaOps = make_op_table<VecScalar, PlainDot<VecScalar>, PlainDot<VecScalar>>();

}  // namespace lathe::kernels
