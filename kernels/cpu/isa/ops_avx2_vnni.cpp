// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/dot_avx_vnni.h"
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/ops/table.h"

namespace lathe::kernels {

constexpr OpTable kAvx2VnniOps = make_op_table<VecAvx2, AvxVnniDot, AvxVnniDot>();

}  // namespace lathe::kernels
