// SPDX-License-Identifier: Apache-2.0
// HeadsStage: what follows the product that gives Q, K and V: clamp, norms, RoPE, and K and V into the cache.
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
  std::span<const std::int32_t> positions;  ///< of these rows
  std::span<const std::int32_t> slots;
  RowCut cut;
  std::int64_t n_pieces;  ///< of each chunk
  RowProgress& ready;     ///< of qkv

  std::int64_t n_items() const { return cut.n_chunks * n_pieces; }
  void run(std::int64_t item, int thread) const;

 private:
  void normalise(const TensorView& q, const TensorView& k, RowRange rows) const;
};

}  // namespace lathe::kernels
