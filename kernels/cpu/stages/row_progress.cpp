// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/row_progress.h"

#include "kernels/threads/spin.h"

namespace lathe::kernels {

template <class Body>
void RowProgress::for_chunks_of(RowRange rows, const Body& body) {
  for (std::int64_t chunk = 0; chunk < cut_.n_chunks; ++chunk) {
    const RowRange of_chunk = cut_.rows(chunk);
    if (of_chunk.begin < rows.end && rows.begin < of_chunk.end) body(n_left_[static_cast<std::size_t>(chunk)]);
  }
}

void RowProgress::expect(RowRange rows, std::int64_t n_items) {
  for_chunks_of(rows, [&](auto& left) { left.fetch_add(static_cast<std::int32_t>(n_items), std::memory_order_relaxed); });
}

void RowProgress::finish(RowRange rows) {
  for_chunks_of(rows, [](auto& left) {
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) left.notify_all();
  });
}

void RowProgress::wait(RowRange rows) {
  for_chunks_of(rows, [this](auto& left) {
    const auto is_done = [&] { return left.load(std::memory_order_acquire) == 0; };
    if (is_done() || (may_spin_ && spin_until(is_done))) return;
    for (std::int32_t n = left.load(); n != 0; n = left.load()) left.wait(n);
  });
}

}  // namespace lathe::kernels
