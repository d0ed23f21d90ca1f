// SPDX-License-Identifier: Apache-2.0
// HeadsStage: processes Q, K and V after their product: clamp, norms, RoPE, and the write of K and V to the cache.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cpu/stages/row_progress.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

/// A stage of run_stages(). An item is some rows of a chunk.
struct HeadsStage {
  const OpTable& ops;
  const QkvForm& form;
  const KvLayer& layer;
  TensorView qkv;
  std::span<const std::int32_t> positions;  ///< positions of the rows of qkv
  std::span<const std::int32_t> slots;
  RowCut cut;
  std::int64_t n_pieces;  ///< pieces of each chunk
  RowProgress& ready;     ///< progress of the product that writes qkv

  std::int64_t n_items() const { return cut.n_chunks * n_pieces; }
  void run(std::int64_t item, int thread) const;

 private:
  void normalise(const TensorView& q, const TensorView& k, RowRange rows) const;
};

}  // namespace lathe::kernels
