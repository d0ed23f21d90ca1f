// SPDX-License-Identifier: Apache-2.0
// RowProgress: how far a stage of a job has come, so that a later stage waits for the rows that it reads and for no others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "kernels/cpu/stages/row_cut.h"

namespace lathe::kernels {

/// Counts, for each chunk of rows, the items that still have to contribute to it.
/// Thread: expect() before the job; finish() and wait() from any thread in the job. Requires: items of a stage are begun
/// before those that wait for them (run_stages() does so); otherwise wait() never returns.
class RowProgress {
 public:
  /// may_spin: ThreadPool::may_spin().
  RowProgress(const RowCut& cut, bool may_spin) : cut_(cut), may_spin_(may_spin) {}

  /// Announces one more item that contributes to these rows.
  void expect(RowRange rows) { expect(rows, 1); }
  /// Announces n_items items that contribute to each chunk.
  void expect_of_each_chunk(std::int64_t n_items) { expect({0, cut_.tiling.n_rows}, n_items); }
  /// Reports that an item is done. rows: those of expect(), or the rows of its chunk.
  void finish(RowRange rows);
  /// Waits until all these rows are done; their results can then be read.
  void wait(RowRange rows);

 private:
  void expect(RowRange rows, std::int64_t n_items);
  template <class Body>
  void for_chunks_of(RowRange rows, const Body& body);

  RowCut cut_;
  bool may_spin_;
  std::array<std::atomic<std::int32_t>, RowCut::kMaxChunks> n_left_{};
};

}  // namespace lathe::kernels
