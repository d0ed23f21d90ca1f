// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/isa/vec_avx512.h"
#include "kernels/cpu/ops/table.h"

namespace lathe::kernels {

constexpr OpTable kAvx512Ops = make_op_table<VecAvx512, WideDot<VecAvx512>, NarrowDot<VecAvx512>>();

}  // namespace lathe::kernels
