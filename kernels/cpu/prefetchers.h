// SPDX-License-Identifier: Apache-2.0
// What the processor itself fetches ahead of a program that reads memory from end to end.
#pragma once

namespace lathe::kernels {

/// Whether the weights of a step of one row come sooner when no instruction fetches them ahead: one row does little with
/// each line, the processor's own prefetchers run as far ahead as they can, and instructions that name the same lines only
/// take places in its queues. Several rows do more with a line and gain by instructions everywhere (Zen 5, 8 rows: twice).
bool streams_one_row_alone();

}  // namespace lathe::kernels
