// SPDX-License-Identifier: Apache-2.0
// CudaBackend: the operations on one CUDA device. Memory of allocate() is managed, so that the host reads and writes it
// between operations; memory of allocate_on_device(), weights and work memory are device memory. Operations are launched in
// one stream; products, attention and mixtures of experts are parts of
// their own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/cuda/cuda_attention.h"
#include "kernels/cuda/cuda_experts.h"
#include "kernels/cuda/cuda_linear.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/failure/failure_record.h"
#include "kernels/cuda/ops/ops.h"
#include "kernels/cuda/step_arrays.h"
#include "kernels/threads/thread_pool.h"

namespace lathe::kernels::cuda {

class CudaBackend final : public Backend {
 public:
  /// Requires: device_refusal(device) is empty. Errors: throws DeviceFailure; no other function does.
  explicit CudaBackend(int n_threads, int device = 0);
  ~CudaBackend() override;
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  const BackendInfo& info() const override { return info_; }
  Buffer allocate(std::size_t n_bytes) override;
  Buffer allocate_on_device(std::size_t n_bytes) override;
  std::optional<std::int64_t> free_bytes() const override;
  std::optional<std::int64_t> total_bytes() const override;
  std::optional<Ceilings> measure_ceilings() override;
  void finish() override;
  void begin_step(std::span<const std::span<const std::int32_t>> arrays) override;
  std::optional<OperationError> take_error() override { return failures_.take(); }

  std::size_t packed_bytes(WeightFormat format, std::int64_t n, std::int64_t k) const override;
  std::unique_ptr<PackedMatrix> make_packed(WeightFormat format, std::int64_t n, std::int64_t k) override;
  void pack_rows(PackedMatrix& matrix, std::int64_t row_begin, const TensorView& source) override;
  std::size_t work_bytes(const StepShape& shape) const override {
    return CudaLinear::work_bytes(shape) + CudaExperts::work_bytes(shape);
  }
  bool reserve(const StepShape& shape) override;
  std::size_t work_bytes_held() const override {
    return linear_.work_bytes_held() + attention_.work_bytes_held() + experts_.work_bytes_held();
  }

  void embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) override;
  void norm(const TensorView& out, const TensorView& x, const Norm& norm) override;
  void add_norm(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) override;
  void norm_heads(const TensorView& x, int n_heads, const Norm& norm) override;
  void add(const TensorView& x, const TensorView& delta) override;
  void linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias) override;
  void scale(const TensorView& x, float factor) override;
  void clamp(const TensorView& x, float limit) override;
  void soft_cap(const TensorView& x, float cap) override;
  void mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) override;
  void rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
            const RopeForm& form) override;
  void fill(const TensorView& x, float value) override;
  void add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                std::span<const float> factors) override;
  void gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) override;

  std::unique_ptr<PackedExperts> make_experts(std::span<const MlpWeights> experts, std::int64_t top_k) override;
  void route(const TensorView& chosen, const TensorView& logits, const RouterForm& form, const TensorView& bias) override;
  void mix_experts(const TensorView& out, const TensorView& x, const TensorView& chosen,
                   const PackedExperts& experts) override;
  void scale_by_sigmoid(const TensorView& x, const TensorView& gate) override;

  TensorView download(const TensorView& x, std::span<const std::int32_t> rows) override;
  std::span<const std::int32_t> arg_max(const TensorView& x) override;

  std::size_t kv_layer_bytes(const KvShape& shape) const override { return CudaAttention::kv_layer_bytes(shape); }
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
  /// Runs an operation on the device (FailureRecord::run).
  template <class Body>
  void run(const char* operation, const Body& body);
  /// The device, asked after a failure, which is cleared.
  DeviceState device_state() const;
  /// Clamps, normalises and rotates the heads of project_qkv(), and writes K and V to the cache.
  void finish_heads(const TensorView& qkv, const QkvForm& form, std::span<const std::int32_t> positions,
                    const KvLayer& layer, std::span<const std::int32_t> slots);
  /// Grows memory that copies and kernels write. It waits for them first.
  void require_pinned(PinnedBuffer& buffer, std::int64_t n_bytes, const char* what);

  int device_;  ///< index
  FailureRecord failures_{[this] { return device_state(); }};
  ThreadPool pool_;
  BackendInfo info_;
  int n_processors_;
  Stream stream_;
  CudaLinear linear_;
  CudaExperts experts_;
  StepArrays arrays_;
  CudaAttention attention_;
  PinnedBuffer downloaded_, best_ids_;
  std::vector<std::span<std::byte>> shared_;  ///< memory of allocate() since the last step: the host has filled it
};

}  // namespace lathe::kernels::cuda
