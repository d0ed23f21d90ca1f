// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_backend.h"

#include "kernels/cuda/cuda_ceilings.h"
#include "kernels/cuda/device_matrix.h"
#include "kernels/cuda/ops/once_per_device.cuh"
#include "kernels/cuda/rows_of.h"

namespace lathe::kernels::cuda {
namespace {

/// Chooses the device for the calling thread: CUDA keeps the current device by thread.
void use_device(int index) {
  if (current_device() != index) check(cudaSetDevice(index), "choosing the device");
}

int used_device(int index) {
  use_device(index);
  return index;
}

BackendInfo info_of_device(int index, int n_threads) {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, index), "querying the device");
  return {.name = "cuda",
          .isa = "sm_" + std::to_string(10 * device.major + device.minor),
          .device = device.name,
          .n_threads = n_threads,
          .multiplies_bf16 = true};
}

int n_processors_of_device(int index) {
  int n = 0;
  check(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, index), "querying the device");
  return n;
}

Stream new_stream() {
  Stream stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return stream;
}

RopeRows rope_of(const RopeForm& form) {
  if (form.cos.data == nullptr) return {};
  return {.cos = rows_of(form.cos), .sin = rows_of(form.sin), .style = form.style};
}

HeadNorm head_norm_of(const Norm& norm, std::int64_t head_dim) {
  return {.rows = norm_of(norm), .has_own_weights = norm.weight.n_elements() != head_dim};
}

}  // namespace

template <class Body>
void CudaBackend::run(const char* operation, const Body& body) {
  failures_.run(operation, [&] {
    use_device(device_);
    body();
  });
}

CudaBackend::CudaBackend(int n_threads, int device)
    : device_(used_device(device)),
      pool_(n_threads > 0 ? n_threads : n_physical_cores()),
      info_(info_of_device(device_, pool_.n_threads())),
      n_processors_(n_processors_of_device(device_)),
      stream_(new_stream()),
      linear_(stream_),
      experts_(stream_, n_processors_),
      arrays_(stream_),
      attention_(stream_, n_processors_, arrays_) {}

CudaBackend::~CudaBackend() {
  finish();
  static_cast<void>(cudaStreamDestroy(stream_));  // fails if the device is lost
}

DeviceState CudaBackend::device_state() const {
  static_cast<void>(cudaSetDevice(device_));
  static_cast<void>(cudaStreamSynchronize(stream_));
  static_cast<void>(cudaGetLastError());
  DeviceState state{.index = device_, .is_lost = cudaStreamSynchronize(stream_) != cudaSuccess};
  if (!state.is_lost) static_cast<void>(cudaMemGetInfo(&state.free_bytes, &state.total_bytes));
  return state;
}

Buffer CudaBackend::allocate(std::size_t n_bytes) {
  Buffer buffer;
  run("allocate", [&] { buffer = allocate_managed(n_bytes); });
  if (buffer.data() != nullptr) shared_.emplace_back(static_cast<std::byte*>(buffer.data()), n_bytes);
  return buffer;
}

Buffer CudaBackend::allocate_on_device(std::size_t n_bytes) {
  Buffer buffer;
  run("allocate_on_device", [&] { buffer = cuda::allocate_on_device(n_bytes); });
  return buffer;
}

std::optional<std::int64_t> CudaBackend::free_bytes() const {
  static_cast<void>(cudaSetDevice(device_));
  return static_cast<std::int64_t>(free_device_bytes());
}

std::optional<std::int64_t> CudaBackend::total_bytes() const {
  std::size_t free = 0, total = 0;
  static_cast<void>(cudaSetDevice(device_));
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) static_cast<void>(cudaGetLastError());
  return static_cast<std::int64_t>(total);
}

std::optional<Ceilings> CudaBackend::measure_ceilings() {
  Ceilings ceilings;
  run("measure_ceilings", [&] { ceilings = cuda::measure_ceilings(stream_, n_processors_); });
  return ceilings;
}

void CudaBackend::finish() {
  try {
    use_device(device_);
    check(cudaStreamSynchronize(stream_), "waiting for them");
  } catch (const DeviceFailure& failure) {
    failures_.record("the operations before finish()", failure);
  }
  arrays_.end_step();
}

void CudaBackend::begin_step(std::span<const std::span<const std::int32_t>> arrays) {
  run("begin_step", [&] {
    for (const std::span<std::byte> memory : shared_) move_to_device(stream_, memory.data(), memory.size());
    shared_.clear();
    arrays_.begin_step(arrays);
  });
}

std::size_t CudaBackend::packed_bytes(WeightFormat format, std::int64_t n, std::int64_t k) const {
  return DeviceMatrix::bytes_for(format, n, k);
}

std::unique_ptr<PackedMatrix> CudaBackend::make_packed(WeightFormat format, std::int64_t n, std::int64_t k) {
  std::unique_ptr<PackedMatrix> matrix;
  run("make_packed", [&] { matrix = DeviceMatrix::create(format, n, k); });
  return matrix;
}

void CudaBackend::pack_rows(PackedMatrix& matrix, std::int64_t row_begin, const TensorView& source) {
  run("pack_rows", [&] {
    static_cast<DeviceMatrix&>(matrix).pack_rows(stream_, row_begin, source,
                                                 [this](std::int64_t n, const auto& body) { parallel_for(n, body); });
  });
}

bool CudaBackend::reserve(const StepShape& shape) {
  finish();
  bool is_reserved = false;
  run("reserve", [&] { is_reserved = linear_.reserve(shape) && experts_.reserve(shape); });
  return is_reserved;
}

void CudaBackend::embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) {
  LATHE_CHECK(out.dim(1) == table.dim(1));
  run("embed", [&] {
    cuda::embed(stream_, rows_of(out), table.data, table.dtype, table.strides[0],
                arrays_.rows_on_device(ids, out.dim(0), table.dim(0)));
  });
}

void CudaBackend::norm(const TensorView& out, const TensorView& x, const Norm& norm) { add_norm(out, x, {}, norm); }

void CudaBackend::add_norm(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) {
  run("norm", [&] { cuda::norm(stream_, rows_of(out), rows_of(x), rows_of(delta), norm_of(norm), {}); });
}

void CudaBackend::norm_heads(const TensorView& x, int n_heads, const Norm& norm) {
  const bool has_own_weights = norm.weight.n_elements() != x.dim(1) / n_heads;
  run("norm_heads", [&] { cuda::norm_heads(stream_, rows_of(x), n_heads, norm_of(norm), has_own_weights); });
}

void CudaBackend::add(const TensorView& x, const TensorView& delta) {
  run("add", [&] { cuda::add(stream_, rows_of(x), rows_of(delta)); });
}

void CudaBackend::scale(const TensorView& x, float factor) {
  run("scale", [&] { cuda::scale(stream_, rows_of(x), factor); });
}

void CudaBackend::clamp(const TensorView& x, float limit) {
  run("clamp", [&] { cuda::clamp(stream_, rows_of(x), limit); });
}

void CudaBackend::soft_cap(const TensorView& x, float cap) {
  run("soft_cap", [&] { cuda::soft_cap(stream_, rows_of(x), cap); });
}

void CudaBackend::fill(const TensorView& x, float value) {
  run("fill", [&] { cuda::fill(stream_, rows_of(x), value); });
}

void CudaBackend::rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
                       const RopeForm& form) {
  run("rope", [&] {
    cuda::rope(stream_, rows_of(x), n_heads, head_dim, arrays_.rows_on_device(positions, x.dim(0), form.cos.dim(0)),
               rope_of(form));
  });
}

void CudaBackend::add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                           std::span<const float> factors) {
  LATHE_CHECK(std::ssize(factors) >= x.dim(0));
  run("add_rows", [&] {
    const auto* const to = arrays_.rows_on_device(rows, x.dim(0), out.dim(0));
    const auto* const factor = arrays_.on_device(factors.first(static_cast<std::size_t>(x.dim(0))));
    cuda::add_rows(stream_, rows_of(out), rows_of(x), to, factor);
  });
}

void CudaBackend::gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) {
  run("gather_rows",
      [&] { cuda::gather_rows(stream_, rows_of(out), rows_of(x), arrays_.rows_on_device(rows, out.dim(0), x.dim(0))); });
}

void CudaBackend::linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias) {
  run("linear", [&] { linear_.linear(out, {.x = x}, matrix, bias); });
}

void CudaBackend::mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) {
  run("mlp", [&] { linear_.mlp(out, in, weights); });
}

std::unique_ptr<PackedExperts> CudaBackend::make_experts(std::span<const MlpWeights> experts, std::int64_t top_k) {
  std::unique_ptr<PackedExperts> made;
  run("make_experts", [&] { made = DeviceExperts::create(stream_, experts, top_k); });
  return made;
}

void CudaBackend::route(const TensorView& chosen, const TensorView& logits, const RouterForm& form, const TensorView& bias) {
  run("route", [&] { experts_.route(chosen, logits, form, bias); });
}

void CudaBackend::mix_experts(const TensorView& out, const TensorView& x, const TensorView& chosen,
                              const PackedExperts& experts) {
  run("mix_experts", [&] { experts_.mix(out, x, chosen, static_cast<const DeviceExperts&>(experts)); });
}

void CudaBackend::scale_by_sigmoid(const TensorView& x, const TensorView& gate) {
  LATHE_CHECK(gate.dim(1) > 0 && x.dim(1) % gate.dim(1) == 0);
  run("scale_by_sigmoid", [&] { cuda::scale_by_sigmoid(stream_, rows_of(x), rows_of(gate)); });
}

void CudaBackend::kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                           std::span<const std::int32_t> slots) {
  run("kv_write", [&] { attention_.kv_write(layer, k, v, slots); });
}

void CudaBackend::attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                            const AttentionBatch& batch, const AttentionForm& form) {
  run("attention", [&] { attention_.attention(out, q, n_heads, layer, batch, form); });
}

void CudaBackend::project_qkv(const TensorView& qkv, const HalfInput& in, const QkvForm& form,
                              std::span<const std::int32_t> positions, const KvLayer& layer,
                              std::span<const std::int32_t> slots) {
  run("project_qkv", [&] {
    linear_.linear(qkv, in, form.matrix, form.bias);
    finish_heads(qkv, form, positions, layer, slots);
  });
}

void CudaBackend::finish_heads(const TensorView& qkv, const QkvForm& form, std::span<const std::int32_t> positions,
                               const KvLayer& layer, std::span<const std::int32_t> slots) {
  const KvShape& shape = layer.shape;
  QkvHeads heads{.qkv = rows_of(qkv),
                 .n_heads = form.n_heads,
                 .n_kv_heads = shape.n_kv_heads,
                 .head_dim = shape.head_dim,
                 .clamp = form.clamp,
                 .q_rope = rope_of(form.q_rope),
                 .k_rope = rope_of(form.k_rope)};
  if (form.norms &&
      form.norms->is_of_rows) {  // a row is normalised by a block of threads, so these are kernels of their own
    const std::int64_t q_size = std::int64_t{form.n_heads} * shape.head_dim;
    const Rows q = rows_of(qkv.columns(0, q_size));
    const Rows k = rows_of(qkv.columns(q_size, std::int64_t{shape.n_kv_heads} * shape.head_dim));
    if (form.clamp > 0) cuda::clamp(stream_, heads.qkv, form.clamp);
    heads.clamp = 0;
    cuda::norm(stream_, q, q, {}, norm_of(form.norms->q), {});
    cuda::norm(stream_, k, k, {}, norm_of(form.norms->k), {});
  } else if (form.norms) {
    heads.q_norm = head_norm_of(form.norms->q, shape.head_dim);
    heads.k_norm = head_norm_of(form.norms->k, shape.head_dim);
  }
  const std::int32_t* rope_rows = nullptr;
  for (const Rows& angles : {heads.q_rope.cos, heads.k_rope.cos}) {
    if (angles.n_columns > 0) rope_rows = arrays_.rows_on_device(positions, qkv.dim(0), angles.n_rows);
  }
  const std::int64_t n_slots = std::int64_t{shape.n_blocks} * shape.block_size;
  finish_qkv(stream_, heads, rope_rows, layer, arrays_.rows_on_device(slots, qkv.dim(0), n_slots));
}

void CudaBackend::attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads,
                         const KvLayer& layer, const AttentionBatch& batch, const AttentionForm& form,
                         const PackedMatrix& matrix, const TensorView& bias) {
  run("attend", [&] {
    const bool is_direct = CudaAttention::has_attention_for_product(layer.shape, form) && CudaLinear::takes_prepared(matrix);
    if (!is_direct) {
      attention_.attention(heads, q, n_heads, layer, batch, form);
      linear_.linear(out, {.x = heads}, matrix, bias);
      return;
    }
    const PreparedX prepared = linear_.input_of(matrix, q.dim(0));
    attention_.attention_for_product(prepared, q, n_heads, layer, batch, form);
    linear_.linear(out, prepared, matrix, bias);
  });
}

void CudaBackend::require_pinned(PinnedBuffer& buffer, std::int64_t n_bytes, const char* what) {
  const auto n = static_cast<std::size_t>(n_bytes);
  if (buffer.n_bytes() >= n) return;
  check(cudaStreamSynchronize(stream_), "waiting for results");
  buffer.require(n, what);
}

TensorView CudaBackend::download(const TensorView& x, std::span<const std::int32_t> rows) {
  TensorView to;
  run("download", [&] {
    LATHE_CHECK(is_rows_of_f32(x) && x.strides[0] == x.dim(1));
    const std::int64_t width = x.dim(1) * static_cast<std::int64_t>(sizeof(float));
    require_pinned(downloaded_, x.dim(0) * width, "results for the host");
    const std::int64_t begin = rows.empty() ? 0 : rows.front(),
                       end = rows.empty() ? x.dim(0) : std::int64_t{rows.back()} + 1;
    LATHE_CHECK(begin >= 0 && begin <= end && end <= x.dim(0));
    to = TensorView(downloaded_.as<float>(), Dtype::f32, {x.dim(0), x.dim(1)});
    check(cudaMemcpyAsync(to.as<std::byte>() + begin * width, x.as<std::byte>() + begin * width,
                          static_cast<std::size_t>((end - begin) * width), cudaMemcpyDeviceToHost, stream_),
          "copying results");
  });
  return to;
}

std::span<const std::int32_t> CudaBackend::arg_max(const TensorView& x) {
  std::span<const std::int32_t> ids;
  run("arg_max", [&] {
    require_pinned(best_ids_, x.dim(0) * static_cast<std::int64_t>(sizeof(std::int32_t)), "results for the host");
    cuda::arg_max(stream_, best_ids_.as<std::int32_t>(), rows_of(x));
    ids = {best_ids_.as<const std::int32_t>(), static_cast<std::size_t>(x.dim(0))};
  });
  return ids;
}

void CudaBackend::parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
  finish();
  pool_.run(n, 1, [&](std::int64_t begin, std::int64_t end, int) { body(begin, end); });
}

}  // namespace lathe::kernels::cuda
