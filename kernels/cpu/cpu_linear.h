// SPDX-License-Identifier: Apache-2.0
// CpuLinear: products with packed matrices, alone or with what comes before and after them in a layer. Each operation is one
// job of the pool: rows are prepared, and chunks of rows are multiplied as soon as they are ready.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cpu/scratch_memory.h"
#include "kernels/cpu/stages/inner_stage.h"
#include "kernels/cpu/stages/multiply_stage.h"
#include "kernels/cpu/stages/prepare_stage.h"
#include "kernels/threads/thread_pool.h"

namespace lathe::kernels {

/// A part of CpuBackend. Owns: memory of packed rows, which only grows, so a step allocates nothing once the sizes have been
/// reached.
class CpuLinear {
 public:
  /// Scratch that the operations take. Units: floats per thread.
  static constexpr std::int64_t kScratchFloats = InnerStage::kScratchFloats;

  /// `streams_one_row`: whether a product of one row leaves prefetching its weights to the processor.
  CpuLinear(const OpTable& ops, ThreadPool& pool, ScratchMemory& scratch, bool streams_one_row)
      : ops_(ops), pool_(pool), scratch_(scratch), streams_one_row_(streams_one_row) {}

  /// Units: bytes that reserve() takes.
  std::size_t work_bytes(const StepShape& shape) const;
  bool reserve(const StepShape& shape);
  std::size_t work_bytes_held() const { return packed_x_.n_bytes() + packed_inner_.n_bytes() + loose_inner_.n_bytes(); }

  // ---- operations of Backend
  void linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias);
  void mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights);
  void project_qkv(const TensorView& qkv, const HalfInput& in, const QkvForm& form, std::span<const std::int32_t> positions,
                   const KvLayer& layer, std::span<const std::int32_t> slots);

  // ---- stages, also for operations that end with a product
  /// Memory of m rows of x, packed for `matrix`; the rows are still to be filled. Valid until the next operation.
  PackedRows reserve_input(std::int64_t m, const PackedMatrix& matrix);
  /// Stage that packs the rows of `in` for `matrix`, waiting for `before` unless it is null, and reports to `done`.
  PrepareStage prepare(const HalfInput& in, const PackedRows& packed, const PackedMatrix& matrix, RowProgress* before,
                       RowProgress& done) const;
  /// Stage that computes out = x * matrix^T for the rows that are `ready`, and reports to `done` unless it is null.
  MultiplyStage multiply(const TensorView& out, const PackedRows& x, const PackedMatrix& matrix, const TensorView& bias,
                         const ThreadScratch& scratch, RowProgress& ready, RowProgress* done) const;

 private:
  /// Sizes of the buffers with these names. Units: bytes.
  struct WorkSizes {
    std::size_t packed_x, packed_inner, loose_inner;
  };
  WorkSizes work_sizes(const StepShape& shape) const;
  const LinearOps& linear_ops(WeightFormat format, std::int64_t k) const;
  const LinearOps& linear_ops(const PackedMatrix& matrix) const;
  /// Arguments of x times `matrix`; the caller still sets the output.
  LinearArgs product(const PackedRows& x, const PackedMatrix& matrix, const TensorView& bias) const;
  void mlp_block(const TensorView& out, const HalfInput& in, const MlpWeights& weights);

  const OpTable& ops_;
  ThreadPool& pool_;
  ScratchMemory& scratch_;
  const bool streams_one_row_;
  Buffer packed_x_;
  Buffer packed_inner_;
  Buffer loose_inner_;
};

}  // namespace lathe::kernels
