// SPDX-License-Identifier: Apache-2.0
// CpuBackend: the Backend on the processor. It checks shapes, divides the work of an operation among threads, and calls the
// ops of its instruction set.
#pragma once

#include <vector>

#include "kernels/api/backend.h"
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/prefetchers.h"
#include "kernels/cpu/stages/attend_stage.h"
#include "kernels/cpu/stages/multiply_stage.h"
#include "kernels/cpu/stages/prepare_stage.h"
#include "kernels/cpu/stages/row_ops.h"
#include "kernels/threads/thread_pool.h"

namespace lathe::kernels {

class CpuBackend final : public Backend {
 public:
  /// `streams_one_row`: whether a step of one row leaves prefetching its weights to the processor.
  CpuBackend(const IsaDescriptor& isa, int n_threads, bool streams_one_row = streams_one_row_alone());

  const BackendInfo& info() const override { return info_; }
  const OpTable& ops() const { return ops_; }
  ThreadPool& pool() { return pool_; }

  Buffer allocate(std::size_t n_bytes) override;
  std::size_t packed_bytes(WeightFormat format, std::int64_t n, std::int64_t k) const override;
  std::unique_ptr<PackedMatrix> make_packed(WeightFormat format, std::int64_t n, std::int64_t k) override;
  void pack_rows(PackedMatrix& matrix, std::int64_t row_begin, const TensorView& source) override;

  std::size_t work_bytes(const StepShape& shape) const override;
  bool reserve(const StepShape& shape) override;
  std::size_t work_bytes_held() const override {
    return packed_x_.n_bytes() + packed_inner_.n_bytes() + loose_inner_.n_bytes() + thread_scratch_.n_bytes() +
           partials_.n_bytes();
  }

  void embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) override;
  void norm(const TensorView& out, const TensorView& x, const Norm& norm) override;
  void add_norm(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) override;
  void norm_heads(const TensorView& x, int n_heads, const Norm& norm) override;
  void add(const TensorView& x, const TensorView& delta) override;
  void scale(const TensorView& x, float factor) override { map_rows(x, factor, ops_.scale); }
  void clamp(const TensorView& x, float limit) override { map_rows(x, limit, ops_.clamp); }
  void soft_cap(const TensorView& x, float cap) override { map_rows(x, cap, ops_.soft_cap); }
  void linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias) override;
  void mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) override;
  void rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
            const RopeForm& form) override;
  void fill(const TensorView& x, float value) override;
  void add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                std::span<const float> factors) override;
  void gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) override;

  std::size_t kv_layer_bytes(const KvShape& shape) const override;
  void kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                std::span<const std::int32_t> slots) override;
  void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer, const AttentionBatch& batch,
                 const AttentionForm& form) override;
  void project_qkv(const TensorView& qkv, const HalfInput& in, const QkvForm& form, std::span<const std::int32_t> positions,
                   const KvLayer& layer, std::span<const std::int32_t> slots) override;
  void attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads, const KvLayer& layer,
              const AttentionBatch& batch, const AttentionForm& form, const PackedMatrix& matrix,
              const TensorView& bias) override;
  void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) override;

 private:
  /// Calls body(row_begin, row_end) over all rows; on this thread alone when there is too little work to share.
  template <class Body>
  void for_rows(std::int64_t n_rows, std::int64_t row_elements, const Body& body) {
    pool_.run(n_rows, row_grain(n_rows, row_elements), [&](std::int64_t begin, std::int64_t end, int) { body(begin, end); });
  }
  std::int64_t row_grain(std::int64_t n_rows, std::int64_t row_elements) const;
  /// Sizes of the buffers with these names. Units: bytes.
  struct WorkSizes {
    std::size_t packed_x, packed_inner, loose_inner, thread_scratch, partials;
  };
  WorkSizes work_sizes(const StepShape& shape) const;
  std::size_t thread_scratch_bytes(std::int64_t floats_each) const {
    return static_cast<std::size_t>(floats_each * pool_.n_threads()) * sizeof(float);
  }
  ThreadScratch thread_scratch(std::int64_t floats_each);
  /// Units: floats per thread.
  static std::int64_t attention_floats(std::int64_t group, std::int64_t head_dim);
  static std::int64_t mlp_scratch_floats();
  void map_rows(const TensorView& x, float parameter, void (*map)(const MapArgs&, std::int64_t, std::int64_t));
  /// Arguments of x times `matrix`; the caller still sets the output.
  LinearArgs product(const PackedRows& x, const PackedMatrix& matrix, const TensorView& bias) const;
  const LinearOps& linear_ops(WeightFormat format, std::int64_t k) const;
  const LinearOps& linear_ops(const PackedMatrix& matrix) const;
  /// Units: bytes that up to kMaxPackedRows packed rows of [m, k] take.
  static std::size_t packed_rows_bytes(std::int64_t m, std::int64_t k, const LinearOps& ops);
  /// Reserves `memory` for rows [m, k] packed for `ops`; the rows are still to be filled.
  static PackedRows reserve_packed(Buffer& memory, std::int64_t m, std::int64_t k, const LinearOps& ops);
  /// True if the output of `ops` can be packed as the input of `next` chunk by chunk, without a full intermediate.
  /// is_ordered: the next matrix has an input order.
  static bool packs_at_once(const LinearOps& ops, const LinearOps& next, bool is_ordered);
  /// Units: bytes of the intermediate rows [m, k] between two products that do not pack at once.
  static std::size_t loose_rows_bytes(std::int64_t m, std::int64_t k);
  /// Stage that packs the rows of `in` for `matrix`, waiting for `before` unless it is null, and reports to `done`.
  PrepareStage prepare(const HalfInput& in, const PackedRows& packed, const PackedMatrix& matrix, RowProgress* before,
                       RowProgress& done);
  /// Stage that computes out = x * matrix^T for the rows that are `ready`, and reports to `done` unless it is null.
  MultiplyStage multiply(const TensorView& out, const PackedRows& x, const PackedMatrix& matrix, const TensorView& bias,
                         const ThreadScratch& scratch, RowProgress& ready, RowProgress* done);
  void mlp_block(const TensorView& out, const HalfInput& in, const MlpWeights& weights);
  /// Units: bytes of the partial results of divided contexts, until they are merged.
  std::size_t partials_bytes(std::int64_t group, std::int64_t head_dim) const;
  void reserve_items(const StepShape& shape);
  void list_items(const AttentionBatch& batch, int n_kv_heads, int group, const AttentionForm& form);
  void divide_items(int group, std::int64_t head_dim);
  AttentionArgs plan_attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                               const AttentionBatch& batch, const AttentionForm& form);
  AttendStage attend_stage(const AttentionArgs& args, const ThreadScratch& scratch, RowProgress* done);

  const OpTable& ops_;
  const bool streams_one_row_;
  ThreadPool pool_;
  BackendInfo info_;
  // Memory of one operation at a time. It only grows, so a step allocates nothing once the sizes have been reached.
  Buffer packed_x_;
  Buffer packed_inner_;
  Buffer loose_inner_;
  Buffer thread_scratch_;
  Buffer partials_;
  std::vector<PlannedItem> items_;
  std::vector<DividedItem> divided_;
};

}  // namespace lathe::kernels
