// SPDX-License-Identifier: Apache-2.0
// CountingBackend: another backend, and the bytes of the buffers and packed matrices that were asked of it.
#pragma once

#include <memory>
#include <utility>

#include "kernels/api/backend.h"

namespace lathe::tests {

/// Owns: the backend that does the work. Work memory of operations is not counted.
class CountingBackend final : public kernels::Backend {
 public:
  explicit CountingBackend(std::unique_ptr<kernels::Backend> backend) : backend_(std::move(backend)) {}

  std::int64_t n_bytes() const { return n_bytes_; }

  const kernels::BackendInfo& info() const override { return backend_->info(); }
  kernels::Buffer allocate(std::size_t n_bytes) override;
  std::optional<std::int64_t> free_bytes() const override { return backend_->free_bytes(); }
  std::optional<kernels::Ceilings> measure_ceilings() override { return backend_->measure_ceilings(); }
  void finish() override { backend_->finish(); }
  std::optional<kernels::OperationError> take_error() override { return backend_->take_error(); }

  std::size_t packed_bytes(kernels::WeightFormat format, std::int64_t n, std::int64_t k) const override;
  std::unique_ptr<kernels::PackedMatrix> make_packed(kernels::WeightFormat format, std::int64_t n, std::int64_t k) override;
  void pack_rows(kernels::PackedMatrix& matrix, std::int64_t row_begin, const kernels::TensorView& source) override;

  std::size_t work_bytes(const kernels::StepShape& shape) const override { return backend_->work_bytes(shape); }
  bool reserve(const kernels::StepShape& shape) override { return backend_->reserve(shape); }
  std::size_t work_bytes_held() const override { return backend_->work_bytes_held(); }

  void embed(const kernels::TensorView& out, const kernels::TensorView& table, std::span<const std::int32_t> ids) override;
  void norm(const kernels::TensorView& out, const kernels::TensorView& x, const kernels::Norm& norm) override;
  void add_norm(const kernels::TensorView& out, const kernels::TensorView& x, const kernels::TensorView& delta,
                const kernels::Norm& norm) override;
  void norm_heads(const kernels::TensorView& x, int n_heads, const kernels::Norm& norm) override;
  void add(const kernels::TensorView& x, const kernels::TensorView& delta) override;
  void linear(const kernels::TensorView& out, const kernels::TensorView& x, const kernels::PackedMatrix& matrix,
              const kernels::TensorView& bias) override;
  void scale(const kernels::TensorView& x, float factor) override { backend_->scale(x, factor); }
  void clamp(const kernels::TensorView& x, float limit) override { backend_->clamp(x, limit); }
  void soft_cap(const kernels::TensorView& x, float cap) override { backend_->soft_cap(x, cap); }
  void mlp(const kernels::TensorView& out, const kernels::HalfInput& in, const kernels::MlpWeights& weights) override;
  void rope(const kernels::TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
            const kernels::RopeForm& form) override;
  void fill(const kernels::TensorView& x, float value) override { backend_->fill(x, value); }
  void add_rows(const kernels::TensorView& out, std::span<const std::int32_t> rows, const kernels::TensorView& x,
                std::span<const float> factors) override;
  void gather_rows(const kernels::TensorView& out, const kernels::TensorView& x,
                   std::span<const std::int32_t> rows) override;

  std::size_t kv_layer_bytes(const kernels::KvShape& shape) const override { return backend_->kv_layer_bytes(shape); }
  void kv_write(const kernels::KvLayer& layer, const kernels::TensorView& k, const kernels::TensorView& v,
                std::span<const std::int32_t> slots) override;
  void attention(const kernels::TensorView& out, const kernels::TensorView& q, int n_heads, const kernels::KvLayer& layer,
                 const kernels::AttentionBatch& batch, const kernels::AttentionForm& form) override;
  void project_qkv(const kernels::TensorView& qkv, const kernels::HalfInput& in, const kernels::QkvForm& form,
                   std::span<const std::int32_t> positions, const kernels::KvLayer& layer,
                   std::span<const std::int32_t> slots) override;
  void attend(const kernels::TensorView& out, const kernels::TensorView& heads, const kernels::TensorView& q, int n_heads,
              const kernels::KvLayer& layer, const kernels::AttentionBatch& batch, const kernels::AttentionForm& form,
              const kernels::PackedMatrix& matrix, const kernels::TensorView& bias) override;
  void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) override;

 private:
  std::unique_ptr<kernels::Backend> backend_;
  std::int64_t n_bytes_ = 0;
};

}  // namespace lathe::tests
