// SPDX-License-Identifier: Apache-2.0
// CpuBackend: the Backend on the processor. It checks shapes, divides the rows of an operation among threads, and calls the
// ops of its instruction set; products, attention and recurrent layers are parts of their own.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cpu/cpu_attention.h"
#include "kernels/cpu/cpu_linear.h"
#include "kernels/cpu/cpu_recurrent.h"
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/prefetchers.h"
#include "kernels/cpu/scratch_memory.h"
#include "kernels/cpu/stages/kv_writer.h"
#include "kernels/cpu/stages/row_ops.h"
#include "kernels/threads/thread_pool.h"

namespace lathe::kernels {

class CpuBackend final : public Backend, public RecurrentBackend {
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
    return linear_.work_bytes_held() + attention_.work_bytes_held() + scratch_.bytes_held();
  }

  void embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) override;
  void norm(const TensorView& out, const TensorView& x, const Norm& norm) override;
  void add_norm(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) override;
  void norm_heads(const TensorView& x, int n_heads, const Norm& norm) override;
  void add(const TensorView& x, const TensorView& delta) override;
  void scale(const TensorView& x, float factor) override { map_rows(x, factor, ops_.scale); }
  void clamp(const TensorView& x, float limit) override { map_rows(x, limit, ops_.clamp); }
  void soft_cap(const TensorView& x, float cap) override { map_rows(x, cap, ops_.soft_cap); }
  void scale_by_sigmoid(const TensorView& x, const TensorView& gate) override;
  void linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias) override {
    linear_.linear(out, x, matrix, bias);
  }
  void mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) override { linear_.mlp(out, in, weights); }
  void rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
            const RopeForm& form) override;
  void fill(const TensorView& x, float value) override;
  void add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                std::span<const float> factors) override;
  void gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) override;

  std::size_t kv_layer_bytes(const KvShape& shape) const override { return kv_layer_bytes_of(shape); }
  void kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                std::span<const std::int32_t> slots) override;
  void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer, const AttentionBatch& batch,
                 const AttentionForm& form) override {
    attention_.attention(out, q, n_heads, layer, batch, form);
  }
  void project_qkv(const TensorView& qkv, const HalfInput& in, const QkvForm& form, std::span<const std::int32_t> positions,
                   const KvLayer& layer, std::span<const std::int32_t> slots) override {
    linear_.project_qkv(qkv, in, form, positions, layer, slots);
  }
  void attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads, const KvLayer& layer,
              const AttentionBatch& batch, const AttentionForm& form, const PackedMatrix& matrix,
              const TensorView& bias) override {
    attention_.attend(out, heads, q, n_heads, layer, batch, form, matrix, bias);
  }
  void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) override;
  RecurrentOperations& recurrent() override { return recurrent_; }
  const RecurrentOperations& recurrent() const override { return recurrent_; }

 private:
  /// Calls body(row_begin, row_end) over all rows; on this thread alone when there is too little work to share.
  template <class Body>
  void for_rows(std::int64_t n_rows, std::int64_t row_elements, const Body& body) {
    pool_.run(n_rows, row_grain(n_rows, row_elements), [&](std::int64_t begin, std::int64_t end, int) { body(begin, end); });
  }
  std::int64_t row_grain(std::int64_t n_rows, std::int64_t row_elements) const;
  /// Scratch of any operation of a step. Units: floats per thread.
  static std::int64_t scratch_floats(const StepShape& shape);
  void map_rows(const TensorView& x, float parameter, void (*map)(const MapArgs&, std::int64_t, std::int64_t));

  const OpTable& ops_;
  ThreadPool pool_;
  BackendInfo info_;
  ScratchMemory scratch_;
  CpuLinear linear_;
  CpuAttention attention_;
  CpuRecurrent recurrent_;
};

}  // namespace lathe::kernels
