// SPDX-License-Identifier: Apache-2.0
// InnerStage: computes the intermediate rows of an MLP: act(x gate^T) (x up^T), or act(x up^T).
#pragma once

#include "kernels/cpu/stages/multiply_stage.h"

namespace lathe::kernels {

/// A stage of run_stages(). An item is a chunk of rows times a chunk of panels of gate and of up. Their products are
/// combined while they are in the cache, and packed at once where that is possible.
struct InnerStage {
  /// Size of each product of an item. At most 9 panels of 192 rows (108 KB), which stay in L2 until they are combined.
  /// Units: floats.
  static constexpr std::int64_t kMaxFloats = kMaxChunkRows * 9 * kPanelColumns;
  /// Scratch of an item. Units: floats.
  static constexpr std::int64_t kScratchFloats = kLinearScratchFloats + 2 * kMaxFloats;

  const LinearOps& linear;  ///< ops of gate and up
  const LinearOps& next;    ///< ops of the product that reads the result
  void (*activate)(const ElementwiseArgs& args, std::int64_t row_begin, std::int64_t row_end);
  LinearArgs gate;  ///< equals `up` if is_gated is false
  LinearArgs up;
  bool is_gated;
  RowCut cut;
  PanelCut panels;
  PackedRows packed;  ///< the result, packed for `next`; without data: not packed
  float* loose;       ///< [M, inner], the result if it is not packed
  ThreadScratch scratch;
  RowProgress& ready;  ///< progress of the packed x
  RowProgress& done;   ///< expects the items of this stage

  std::int64_t n_items() const { return cut.n_chunks * panels.n_chunks; }
  void run(std::int64_t item, int thread) const;

 private:
  void combine(const LinearRange& range, float* first, const float* second) const;
};

/// Most panels of gate and of up in a chunk. Chunks of few rows have many panels: each matrix is then read as one long
/// stream.
std::int64_t max_inner_panels(const RowCut& cut);

}  // namespace lathe::kernels
