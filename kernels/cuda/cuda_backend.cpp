// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_backend.h"

#include "kernels/cuda/cuda_ceilings.h"
#include "kernels/cuda/device_matrix.h"
#include "kernels/cuda/ops/check.cuh"
#include "kernels/cuda/rows_of.h"

namespace lathe::kernels::cuda {
namespace {

BackendInfo info_of_device(int n_threads) {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "querying the device");
  return {.name = "cuda",
          .isa = "sm_" + std::to_string(10 * device.major + device.minor),
          .device = device.name,
          .n_threads = n_threads,
          .multiplies_bf16 = true};
}

int n_processors_of_device() {
  int n = 0;
  check(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0), "querying the device");
  return n;
}

Stream new_stream() {
  Stream stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return stream;
}

/// The first `count` of `rows`. Requires: each row index is in [0, n).
template <class T>
std::span<const T> checked(std::span<const T> rows, std::int64_t count, std::int64_t n) {
  LATHE_CHECK(std::ssize(rows) >= count);
  for (const T row : rows.first(static_cast<std::size_t>(count))) LATHE_CHECK(row >= 0 && row < n);
  return rows.first(static_cast<std::size_t>(count));
}

}  // namespace

CudaBackend::CudaBackend(int n_threads)
    : pool_(n_threads > 0 ? n_threads : n_physical_cores()),
      info_(info_of_device(pool_.n_threads())),
      n_processors_(n_processors_of_device()),
      stream_(new_stream()),
      linear_(stream_),
      attention_(stream_, n_processors_) {}

CudaBackend::~CudaBackend() {
  finish();
  static_cast<void>(cudaStreamDestroy(stream_));  // fails if the device is lost
}

DeviceState CudaBackend::device_state() const {
  static_cast<void>(cudaStreamSynchronize(stream_));
  static_cast<void>(cudaGetLastError());
  DeviceState state{.index = 0, .is_lost = cudaStreamSynchronize(stream_) != cudaSuccess};
  if (!state.is_lost) static_cast<void>(cudaMemGetInfo(&state.free_bytes, &state.total_bytes));
  return state;
}

Buffer CudaBackend::allocate(std::size_t n_bytes) {
  Buffer buffer;
  failures_.run("allocate", [&] { buffer = allocate_managed(n_bytes); });
  return buffer;
}

std::optional<std::int64_t> CudaBackend::free_bytes() const { return static_cast<std::int64_t>(free_device_bytes()); }

std::optional<Ceilings> CudaBackend::measure_ceilings() {
  Ceilings ceilings;
  failures_.run("measure_ceilings", [&] { ceilings = cuda::measure_ceilings(stream_, n_processors_); });
  return ceilings;
}

void CudaBackend::finish() {
  try {
    check(cudaStreamSynchronize(stream_), "waiting for them");
  } catch (const DeviceFailure& failure) {
    failures_.record("the operations before finish()", failure);
  }
}

std::size_t CudaBackend::packed_bytes(WeightFormat format, std::int64_t n, std::int64_t k) const {
  return DeviceMatrix::bytes_for(format, n, k);
}

std::unique_ptr<PackedMatrix> CudaBackend::make_packed(WeightFormat format, std::int64_t n, std::int64_t k) {
  std::unique_ptr<PackedMatrix> matrix;
  failures_.run("make_packed", [&] { matrix = DeviceMatrix::create(format, n, k); });
  return matrix;
}

void CudaBackend::pack_rows(PackedMatrix& matrix, std::int64_t row_begin, const TensorView& source) {
  failures_.run("pack_rows", [&] {
    static_cast<DeviceMatrix&>(matrix).pack_rows(stream_, row_begin, source,
                                                 [this](std::int64_t n, const auto& body) { parallel_for(n, body); });
  });
}

bool CudaBackend::reserve(const StepShape& shape) {
  finish();
  bool is_reserved = false;
  failures_.run("reserve", [&] { is_reserved = linear_.reserve(shape); });
  return is_reserved;
}

void CudaBackend::embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) {
  LATHE_CHECK(out.dim(1) == table.dim(1));
  failures_.run("embed", [&] {
    const auto* const on_device = ids_.on_device(stream_, checked(ids, out.dim(0), table.dim(0)));
    cuda::embed(stream_, rows_of(out), table.data, table.dtype, table.strides[0], on_device);
  });
}

void CudaBackend::norm(const TensorView& out, const TensorView& x, const Norm& norm) { add_norm(out, x, {}, norm); }

void CudaBackend::add_norm(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) {
  failures_.run("norm", [&] { cuda::norm(stream_, rows_of(out), rows_of(x), rows_of(delta), norm_of(norm), {}); });
}

void CudaBackend::norm_heads(const TensorView& x, int n_heads, const Norm& norm) {
  const bool has_own_weights = norm.weight.n_elements() != x.dim(1) / n_heads;
  failures_.run("norm_heads", [&] { cuda::norm_heads(stream_, rows_of(x), n_heads, norm_of(norm), has_own_weights); });
}

void CudaBackend::add(const TensorView& x, const TensorView& delta) {
  failures_.run("add", [&] { cuda::add(stream_, rows_of(x), rows_of(delta)); });
}

void CudaBackend::scale(const TensorView& x, float factor) {
  failures_.run("scale", [&] { cuda::scale(stream_, rows_of(x), factor); });
}

void CudaBackend::clamp(const TensorView& x, float limit) {
  failures_.run("clamp", [&] { cuda::clamp(stream_, rows_of(x), limit); });
}

void CudaBackend::soft_cap(const TensorView& x, float cap) {
  failures_.run("soft_cap", [&] { cuda::soft_cap(stream_, rows_of(x), cap); });
}

void CudaBackend::fill(const TensorView& x, float value) {
  failures_.run("fill", [&] { cuda::fill(stream_, rows_of(x), value); });
}

void CudaBackend::rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
                       const RopeForm& form) {
  failures_.run("rope", [&] {
    const auto* const on_device = positions_.on_device(stream_, checked(positions, x.dim(0), form.cos.dim(0)));
    cuda::rope(stream_, rows_of(x), n_heads, head_dim, on_device, rows_of(form.cos), rows_of(form.sin), form.style);
  });
}

void CudaBackend::add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                           std::span<const float> factors) {
  LATHE_CHECK(std::ssize(factors) >= x.dim(0));
  failures_.run("add_rows", [&] {
    const auto* const to = rows_.on_device(stream_, checked(rows, x.dim(0), out.dim(0)));
    const auto* const factor = factors_.on_device(stream_, factors.first(static_cast<std::size_t>(x.dim(0))));
    cuda::add_rows(stream_, rows_of(out), rows_of(x), to, factor);
  });
}

void CudaBackend::gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) {
  failures_.run("gather_rows", [&] {
    cuda::gather_rows(stream_, rows_of(out), rows_of(x), rows_.on_device(stream_, checked(rows, out.dim(0), x.dim(0))));
  });
}

void CudaBackend::linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias) {
  failures_.run("linear", [&] { linear_.linear(out, {.x = x}, matrix, bias); });
}

void CudaBackend::mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) {
  failures_.run("mlp", [&] { linear_.mlp(out, in, weights); });
}

void CudaBackend::kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                           std::span<const std::int32_t> slots) {
  failures_.run("kv_write", [&] { attention_.kv_write(layer, k, v, slots); });
}

void CudaBackend::attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                            const AttentionBatch& batch, const AttentionForm& form) {
  failures_.run("attention", [&] { attention_.attention(out, q, n_heads, layer, batch, form); });
}

void CudaBackend::project_qkv(const TensorView& qkv, const HalfInput& in, const QkvForm& form,
                              std::span<const std::int32_t> positions, const KvLayer& layer,
                              std::span<const std::int32_t> slots) {
  const std::int64_t head_dim = layer.shape.head_dim, q_size = form.n_heads * head_dim;
  const std::int64_t kv_size = layer.shape.n_kv_heads * head_dim;
  const TensorView q = qkv.columns(0, q_size), k = qkv.columns(q_size, kv_size), v = qkv.columns(q_size + kv_size, kv_size);
  failures_.run("project_qkv", [&] { linear_.linear(qkv, in, form.matrix, form.bias); });
  if (form.clamp > 0) clamp(qkv, form.clamp);
  for (const bool is_query : {true, false}) {
    const TensorView& x = is_query ? q : k;
    const int n_heads = is_query ? form.n_heads : layer.shape.n_kv_heads;
    const RopeForm& turn = is_query ? form.q_rope : form.k_rope;
    if (form.norms) {
      const Norm& of_heads = is_query ? form.norms->q : form.norms->k;
      form.norms->is_of_rows ? norm(x, x, of_heads) : norm_heads(x, n_heads, of_heads);
    }
    if (turn.cos.data != nullptr) rope(x, n_heads, static_cast<int>(head_dim), positions, turn);
  }
  kv_write(layer, k, v, slots);
}

void CudaBackend::attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads,
                         const KvLayer& layer, const AttentionBatch& batch, const AttentionForm& form,
                         const PackedMatrix& matrix, const TensorView& bias) {
  attention(heads, q, n_heads, layer, batch, form);
  linear(out, heads, matrix, bias);
}

void CudaBackend::parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
  finish();
  pool_.run(n, 1, [&](std::int64_t begin, std::int64_t end, int) { body(begin, end); });
}

}  // namespace lathe::kernels::cuda
