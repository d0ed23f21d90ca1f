// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_backend.h"

#include "kernels/cuda/ops/check.cuh"
#include "kernels/cuda/rows_of.h"
#include "kernels/cuda/stored_format.h"

namespace lathe::kernels::cuda {
namespace {

BackendInfo info_of(const cudaDeviceProp& device, int n_threads) {
  return {.name = "cuda",
          .isa = "sm_" + std::to_string(10 * device.major + device.minor),
          .device = device.name,
          .n_threads = n_threads,
          .multiplies_bf16 = true};
}

/// The first `count` of `rows`. Requires: each row index is in [0, n).
template <class T>
std::span<const T> checked(std::span<const T> rows, std::int64_t count, std::int64_t n) {
  LATHE_CHECK(std::ssize(rows) >= count);
  for (const T row : rows.first(static_cast<std::size_t>(count))) LATHE_CHECK(row >= 0 && row < n);
  return rows.first(static_cast<std::size_t>(count));
}

}  // namespace

CudaBackend::CudaBackend(int n_threads) : pool_(n_threads > 0 ? n_threads : n_physical_cores()) {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "querying the device");
  info_ = info_of(device, pool_.n_threads());
  n_processors_ = device.multiProcessorCount;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
}

CudaBackend::~CudaBackend() {
  finish();
  check(cudaStreamDestroy(stream_), "destroying a stream");
}

std::optional<std::int64_t> CudaBackend::free_bytes() const { return static_cast<std::int64_t>(free_device_bytes()); }

void CudaBackend::finish() { check(cudaStreamSynchronize(stream_), "an operation"); }

std::size_t CudaBackend::packed_bytes(WeightFormat format, std::int64_t n, std::int64_t k) const {
  return DeviceMatrix::bytes_for(format, n, k);
}

std::unique_ptr<PackedMatrix> CudaBackend::make_packed(WeightFormat format, std::int64_t n, std::int64_t k) {
  return DeviceMatrix::create(format, n, k);
}

void CudaBackend::pack_rows(PackedMatrix& matrix, std::int64_t row_begin, const TensorView& source) {
  static_cast<DeviceMatrix&>(matrix).pack_rows(stream_, row_begin, source,
                                               [this](std::int64_t n, const auto& body) { parallel_for(n, body); });
}

void CudaBackend::embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) {
  LATHE_CHECK(out.dim(1) == table.dim(1));
  const auto* const on_device = ids_.on_device(stream_, checked(ids, out.dim(0), table.dim(0)));
  cuda::embed(stream_, rows_of(out), table.data, table.dtype, table.strides[0], on_device);
}

void CudaBackend::norm(const TensorView& out, const TensorView& x, const Norm& norm) { add_norm(out, x, {}, norm); }

void CudaBackend::add_norm(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) {
  cuda::norm(stream_, rows_of(out), rows_of(x), rows_of(delta), norm_of(norm), {});
}

void CudaBackend::norm_heads(const TensorView& x, int n_heads, const Norm& norm) {
  const bool has_own_weights = norm.weight.n_elements() != x.dim(1) / n_heads;
  cuda::norm_heads(stream_, rows_of(x), n_heads, norm_of(norm), has_own_weights);
}

void CudaBackend::add(const TensorView& x, const TensorView& delta) { cuda::add(stream_, rows_of(x), rows_of(delta)); }
void CudaBackend::scale(const TensorView& x, float factor) { cuda::scale(stream_, rows_of(x), factor); }
void CudaBackend::clamp(const TensorView& x, float limit) { cuda::clamp(stream_, rows_of(x), limit); }
void CudaBackend::soft_cap(const TensorView& x, float cap) { cuda::soft_cap(stream_, rows_of(x), cap); }
void CudaBackend::fill(const TensorView& x, float value) { cuda::fill(stream_, rows_of(x), value); }

void CudaBackend::rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
                       const RopeForm& form) {
  const auto* const on_device = positions_.on_device(stream_, checked(positions, x.dim(0), form.cos.dim(0)));
  cuda::rope(stream_, rows_of(x), n_heads, head_dim, on_device, rows_of(form.cos), rows_of(form.sin), form.style);
}

void CudaBackend::add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                           std::span<const float> factors) {
  LATHE_CHECK(std::ssize(factors) >= x.dim(0));
  const auto* const to = rows_.on_device(stream_, checked(rows, x.dim(0), out.dim(0)));
  const auto* const factor = factors_.on_device(stream_, factors.first(static_cast<std::size_t>(x.dim(0))));
  cuda::add_rows(stream_, rows_of(out), rows_of(x), to, factor);
}

void CudaBackend::gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) {
  cuda::gather_rows(stream_, rows_of(out), rows_of(x), rows_.on_device(stream_, checked(rows, out.dim(0), x.dim(0))));
}

void CudaBackend::parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
  finish();
  pool_.run(n, 1, [&](std::int64_t begin, std::int64_t end, int) { body(begin, end); });
}

}  // namespace lathe::kernels::cuda
