// SPDX-License-Identifier: Apache-2.0
// Decides whether the processor's own prefetchers replace prefetch instructions where a program reads memory from end to
// end.
#pragma once

namespace lathe::kernels {

/// True if a step of one row gets its weights sooner without prefetch instructions: one row computes little with each cache
/// line, the processor's own prefetchers run as far ahead as they can, and instructions for the same lines only occupy the
/// prefetch queues. Several rows compute more with a line and gain from the instructions on every processor (Zen 5, 8 rows:
/// twice as fast).
bool streams_one_row_alone();

}  // namespace lathe::kernels
