// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/attend_stage.h"

#include <atomic>

namespace lathe::kernels {

void AttendStage::run(std::int64_t item, int thread) const {
  const PlannedItem& planned = items[static_cast<std::size_t>(item)];
  ops.attend(args, planned.item, scratch.of(thread));
  if (planned.divided >= 0) {
    DividedItem& whole = divided[static_cast<std::size_t>(planned.divided)];
    if (std::atomic_ref(whole.n_left).fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    ops.merge_attention(args, whole.item, whole.n_partials);
  }
  if (done != nullptr) done->finish(rows_of(planned.item));
}

}  // namespace lathe::kernels
