// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/dot_vnni.h"
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/ops/table.h"

namespace lathe::kernels {

constexpr OpTable kAvx512VnniOps = make_op_table<VecAvx512, VnniDot, VnniDot>();

}  // namespace lathe::kernels
