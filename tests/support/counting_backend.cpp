// SPDX-License-Identifier: Apache-2.0
#include "tests/support/counting_backend.h"

namespace lathe::tests {

using kernels::KvLayer;
using kernels::PackedMatrix;
using kernels::TensorView;

kernels::Buffer CountingBackend::allocate(std::size_t n_bytes) {
  kernels::Buffer buffer = backend_->allocate(n_bytes);
  n_bytes_ += static_cast<std::int64_t>(buffer.n_bytes());
  return buffer;
}

std::size_t CountingBackend::packed_bytes(kernels::WeightFormat format, std::int64_t n, std::int64_t k) const {
  return backend_->packed_bytes(format, n, k);
}

std::unique_ptr<PackedMatrix> CountingBackend::make_packed(kernels::WeightFormat format, std::int64_t n, std::int64_t k) {
  auto matrix = backend_->make_packed(format, n, k);
  if (matrix != nullptr) n_bytes_ += static_cast<std::int64_t>(matrix->n_bytes());
  return matrix;
}

void CountingBackend::pack_rows(PackedMatrix& matrix, std::int64_t row_begin, const TensorView& source) {
  backend_->pack_rows(matrix, row_begin, source);
}

void CountingBackend::embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) {
  backend_->embed(out, table, ids);
}

void CountingBackend::norm(const TensorView& out, const TensorView& x, const kernels::Norm& norm) {
  backend_->norm(out, x, norm);
}

void CountingBackend::add_norm(const TensorView& out, const TensorView& x, const TensorView& delta,
                               const kernels::Norm& norm) {
  backend_->add_norm(out, x, delta, norm);
}

void CountingBackend::norm_heads(const TensorView& x, int n_heads, const kernels::Norm& norm) {
  backend_->norm_heads(x, n_heads, norm);
}

void CountingBackend::add(const TensorView& x, const TensorView& delta) { backend_->add(x, delta); }

void CountingBackend::linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix,
                             const TensorView& bias) {
  backend_->linear(out, x, matrix, bias);
}

void CountingBackend::mlp(const TensorView& out, const kernels::HalfInput& in, const kernels::MlpWeights& weights) {
  backend_->mlp(out, in, weights);
}

void CountingBackend::rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
                           const kernels::RopeForm& form) {
  backend_->rope(x, n_heads, head_dim, positions, form);
}

void CountingBackend::add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                               std::span<const float> factors) {
  backend_->add_rows(out, rows, x, factors);
}

void CountingBackend::gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) {
  backend_->gather_rows(out, x, rows);
}

void CountingBackend::kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                               std::span<const std::int32_t> slots) {
  backend_->kv_write(layer, k, v, slots);
}

void CountingBackend::attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                                const kernels::AttentionBatch& batch, const kernels::AttentionForm& form) {
  backend_->attention(out, q, n_heads, layer, batch, form);
}

void CountingBackend::project_qkv(const TensorView& qkv, const kernels::HalfInput& in, const kernels::QkvForm& form,
                                  std::span<const std::int32_t> positions, const KvLayer& layer,
                                  std::span<const std::int32_t> slots) {
  backend_->project_qkv(qkv, in, form, positions, layer, slots);
}

void CountingBackend::attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads,
                             const KvLayer& layer, const kernels::AttentionBatch& batch, const kernels::AttentionForm& form,
                             const PackedMatrix& matrix, const TensorView& bias) {
  backend_->attend(out, heads, q, n_heads, layer, batch, form, matrix, bias);
}

void CountingBackend::parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
  backend_->parallel_for(n, body);
}

}  // namespace lathe::tests
