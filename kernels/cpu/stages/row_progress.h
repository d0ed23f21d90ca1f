// SPDX-License-Identifier: Apache-2.0
// RowProgress: how far a stage of a job has come, so that a later one waits for the rows that it reads and for no others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "kernels/cpu/stages/row_cut.h"

namespace lathe::kernels {

/// Counts the items that are still to give something to a chunk of rows.
/// Thread: expect() before the job; finish() and wait() from any thread in it. Requires: items of a stage are begun before
/// those that wait for them (run_stages does so), else wait() never returns.
class RowProgress {
 public:
  /// may_spin: ThreadPool::may_spin().
  RowProgress(const RowCut& cut, bool may_spin) : cut_(cut), may_spin_(may_spin) {}

  /// An item more gives something to these rows.
  void expect(RowRange rows) { expect(rows, 1); }
  /// So many items give something to each chunk.
  void expect_of_each_chunk(std::int64_t n_items) { expect({0, cut_.tiling.n_rows}, n_items); }
  /// An item is done: what expect() was called with, or the rows of its chunk.
  void finish(RowRange rows);
  /// Returns when all these rows are done; what gave them can be read then.
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
