// SPDX-License-Identifier: Apache-2.0
// CpuAttention: attention over the paged KV cache, divided into items for threads, alone or with the product that follows.
#pragma once

#include <vector>

#include "kernels/api/backend.h"
#include "kernels/cpu/cpu_linear.h"
#include "kernels/cpu/scratch_memory.h"
#include "kernels/cpu/stages/attend_stage.h"
#include "kernels/threads/thread_pool.h"

namespace lathe::kernels {

/// A part of CpuBackend. Owns: the items of a step and memory of partial results, which only grow.
class CpuAttention {
 public:
  CpuAttention(const OpTable& ops, ThreadPool& pool, ScratchMemory& scratch, CpuLinear& linear)
      : ops_(ops), pool_(pool), scratch_(scratch), linear_(linear) {}

  /// Scratch that the operations take. Units: floats per thread.
  static std::int64_t scratch_floats(std::int64_t group, std::int64_t head_dim);
  /// Units: bytes that reserve() takes, the items left out.
  std::size_t work_bytes(const StepShape& shape) const;
  bool reserve(const StepShape& shape);
  std::size_t work_bytes_held() const { return partials_.n_bytes(); }

  // ---- operations of Backend
  void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer, const AttentionBatch& batch,
                 const AttentionForm& form);
  void attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads, const KvLayer& layer,
              const AttentionBatch& batch, const AttentionForm& form, const PackedMatrix& matrix, const TensorView& bias);

 private:
  /// Units: bytes of the partial results of divided contexts, until they are merged.
  std::size_t partials_bytes(std::int64_t group, std::int64_t head_dim) const;
  /// Reserves capacity for the items of any step of this shape.
  void reserve_items(const StepShape& shape);
  /// Fills items_ with undivided items of about equally many rows. An item covers all parts of the context that one of its
  /// rows sees.
  void list_items(const AttentionBatch& batch, int n_kv_heads, int group, const AttentionForm& form);
  /// Divides items that could keep one thread busy after all others have finished, as far as the memory for partial results
  /// reaches.
  void divide_items(int group, std::int64_t head_dim);
  /// Fills items_ and divided_. Items are sorted by cost, the largest first, so that the last items to finish are small.
  AttentionArgs plan(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                     const AttentionBatch& batch, const AttentionForm& form);
  AttendStage attend_stage(const AttentionArgs& args, const ThreadScratch& scratch, RowProgress* done);

  const OpTable& ops_;
  ThreadPool& pool_;
  ScratchMemory& scratch_;
  CpuLinear& linear_;
  Buffer partials_;
  std::vector<PlannedItem> items_;
  std::vector<DividedItem> divided_;
};

}  // namespace lathe::kernels
