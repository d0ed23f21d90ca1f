// SPDX-License-Identifier: Apache-2.0
// InnerStage: what lies between the two products of an MLP: act(x gate^T) (x up^T), or act(x up^T).
#pragma once

#include "kernels/cpu/stages/multiply_stage.h"

namespace lathe::kernels {

/// A stage of run_stages(). An item is a chunk of rows times a chunk of panels of gate and of up: what they give is combined
/// while it lies in the cache, and packed at once where that can be.
struct InnerStage {
  /// What a chunk of rows gets from gate and up each (108 KB) stays in L2 until it is combined: 9 panels of 192 rows.
  static constexpr std::int64_t kMaxFloats = kMaxChunkRows * 9 * kPanelColumns;
  /// That an item needs.
  static constexpr std::int64_t kScratchFloats = kLinearScratchFloats + 2 * kMaxFloats;

  const LinearOps& linear;  ///< of gate and up
  const LinearOps& next;    ///< of the product that reads what this gives
  void (*activate)(const ElementwiseArgs& args, std::int64_t row_begin, std::int64_t row_end);
  LinearArgs gate;  ///< where is_gated is false, up
  LinearArgs up;
  bool is_gated;
  RowCut cut;
  PanelCut panels;
  PackedRows packed;  ///< of what this gives, for `next`; without data
  float* loose;       ///< [M, inner] gets the numbers as they are
  ThreadScratch scratch;
  RowProgress& ready;  ///< of x
  RowProgress& done;   ///< expects the items of this stage

  std::int64_t n_items() const { return cut.n_chunks * panels.n_chunks; }
  void run(std::int64_t item, int thread) const;

 private:
  void combine(const LinearRange& range, float* first, const float* second) const;
};

/// Panels of gate and of up that a chunk may have. Of few rows many: they are read as one stream each.
std::int64_t max_inner_panels(const RowCut& cut);

}  // namespace lathe::kernels
