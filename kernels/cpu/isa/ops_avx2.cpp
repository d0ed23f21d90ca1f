// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/isa/vec_avx2.h"
#include "kernels/cpu/ops/table.h"

namespace lathe::kernels {

constexpr OpTable kAvx2Ops = make_op_table<VecAvx2, WideDot<VecAvx2>, NarrowDot<VecAvx2>>();

}  // namespace lathe::kernels
