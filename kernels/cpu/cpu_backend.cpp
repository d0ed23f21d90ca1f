// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/cpu/cpu_name.h"
#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/isa/encoders.h"
#include "kernels/cpu/panel_matrix.h"
#include "kernels/cpu/stages/div_up.h"
#include "kernels/formats/element.h"

namespace lathe::kernels {

CpuBackend::CpuBackend(const IsaDescriptor& isa, int n_threads, bool streams_one_row)
    : ops_(isa.ops()),
      pool_(n_threads > 0 ? n_threads : n_physical_cores()),
      info_{.name = "cpu", .isa = std::string(isa.name), .device = cpu_name(), .n_threads = pool_.n_threads()},
      scratch_(pool_.n_threads()),
      linear_(ops_, pool_, scratch_, streams_one_row),
      attention_(ops_, pool_, scratch_, linear_),
      recurrent_(ops_, pool_) {}

Buffer CpuBackend::allocate(std::size_t n_bytes) { return allocate_host(n_bytes); }

std::size_t CpuBackend::packed_bytes(WeightFormat format, std::int64_t n, std::int64_t k) const {
  return PanelMatrix::bytes_for(format, n, k);
}

std::unique_ptr<PackedMatrix> CpuBackend::make_packed(WeightFormat format, std::int64_t n, std::int64_t k) {
  Buffer buffer = allocate_host(packed_bytes(format, n, k));
  if (!buffer) return nullptr;
  return std::make_unique<PanelMatrix>(format, n, k, std::move(buffer));
}

void CpuBackend::pack_rows(PackedMatrix& matrix, std::int64_t row_begin, const TensorView& source) {
  static_cast<PanelMatrix&>(matrix).pack_rows(row_begin, source, pool_, encoders_of(info_.isa));
}

std::int64_t CpuBackend::scratch_floats(const StepShape& shape) {
  return std::max(CpuLinear::kScratchFloats, CpuAttention::scratch_floats(shape.group, shape.head_dim));
}

std::size_t CpuBackend::work_bytes(const StepShape& shape) const {
  return linear_.work_bytes(shape) + attention_.work_bytes(shape) + scratch_.work_bytes(scratch_floats(shape));
}

bool CpuBackend::reserve(const StepShape& shape) {
  return linear_.reserve(shape) && attention_.reserve(shape) && scratch_.reserve(scratch_floats(shape));
}

std::int64_t CpuBackend::row_grain(std::int64_t n_rows, std::int64_t row_elements) const {
  if (n_rows * row_elements < kMinElementsToShare) return n_rows;
  const std::int64_t by_size = div_up(kMinElementsToShare / 2, std::max<std::int64_t>(row_elements, 1));
  return std::max(by_size, div_up(n_rows, 8 * pool_.n_threads()));
}

void CpuBackend::embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) {
  LATHE_CHECK(is_rows_of_f32(out) && static_cast<std::int64_t>(ids.size()) >= out.dim(0) && out.dim(1) == table.dim(1));
  for_rows(out.dim(0), out.dim(1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      const std::int64_t id = ids[static_cast<std::size_t>(m)];
      LATHE_CHECK(id >= 0 && id < table.dim(0));
      float* const to = out.row<float>(m);
      for (std::int64_t h = 0; h < out.dim(1); ++h) to[h] = load_element(table.data, table.dtype, id * table.strides[0] + h);
    }
  });
}

void CpuBackend::norm(const TensorView& out, const TensorView& x, const Norm& norm) { add_norm(out, x, {}, norm); }

void CpuBackend::add_norm(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) {
  const NormArgs args = norm_args(out, x, delta, norm);
  auto* const op = norm_of(ops_, norm);
  for_rows(x.dim(0), x.dim(1), [&](std::int64_t begin, std::int64_t end) { op(args, begin, end); });
}

void CpuBackend::norm_heads(const TensorView& x, int n_heads, const Norm& norm) {
  LATHE_CHECK(is_rows_of_f32(x) && x.dim(1) % n_heads == 0);
  for_rows(x.dim(0), x.dim(1),
           [&](std::int64_t begin, std::int64_t end) { norm_heads_of_rows(ops_, x, n_heads, norm, begin, end); });
}

void CpuBackend::map_rows(const TensorView& x, float parameter, void (*map)(const MapArgs&, std::int64_t, std::int64_t)) {
  const MapArgs args = map_args(x, parameter);
  for_rows(x.dim(0), x.dim(1), [&](std::int64_t begin, std::int64_t end) { map(args, begin, end); });
}

void CpuBackend::add(const TensorView& x, const TensorView& delta) {
  const ElementwiseArgs args = add_args(x, delta);
  for_rows(x.dim(0), x.dim(1), [&](std::int64_t begin, std::int64_t end) { ops_.add(args, begin, end); });
}

void CpuBackend::scale_by_sigmoid(const TensorView& x, const TensorView& gate) {
  const SigmoidArgs args = sigmoid_args(x, gate);
  for_rows(x.dim(0), x.dim(1), [&](std::int64_t begin, std::int64_t end) { ops_.scale_by_sigmoid(args, begin, end); });
}

void CpuBackend::rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
                      const RopeForm& form) {
  LATHE_CHECK(x.dim(1) == static_cast<std::int64_t>(n_heads) * head_dim);
  const RopeArgs args = rope_args(x, n_heads, positions, form);
  for_rows(x.dim(0), x.dim(1), [&](std::int64_t begin, std::int64_t end) { ops_.rope(args, begin, end); });
}

void CpuBackend::fill(const TensorView& x, float value) {
  LATHE_CHECK(is_rows_of_f32(x));
  for (std::int64_t m = 0; m < x.dim(0); ++m) std::fill_n(x.row<float>(m), x.dim(1), value);
}

void CpuBackend::add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                          std::span<const float> factors) {
  LATHE_CHECK(is_rows_of_f32(out) && is_rows_of_f32(x) && out.dim(1) == x.dim(1));
  LATHE_CHECK(static_cast<std::int64_t>(rows.size()) == x.dim(0) && rows.size() == factors.size());
  for_rows(x.dim(0), x.dim(1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = rows[static_cast<std::size_t>(i)];
      LATHE_CHECK(row >= 0 && row < out.dim(0));
      const float factor = factors[static_cast<std::size_t>(i)];
      float* const to = out.row<float>(row);
      const float* const from = x.row<float>(i);
      for (std::int64_t h = 0; h < x.dim(1); ++h) to[h] += factor * from[h];
    }
  });
}

void CpuBackend::gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) {
  LATHE_CHECK(is_rows_of_f32(out) && is_rows_of_f32(x) && static_cast<std::int64_t>(rows.size()) >= out.dim(0));
  for (std::int64_t i = 0; i < out.dim(0); ++i) {
    const std::int64_t source = rows[static_cast<std::size_t>(i)];
    LATHE_CHECK(source >= 0 && source < x.dim(0));
    std::memcpy(out.row<float>(i), x.row<float>(source), static_cast<std::size_t>(out.dim(1)) * sizeof(float));
  }
}

void CpuBackend::kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                          std::span<const std::int32_t> slots) {
  const std::int64_t n_columns = static_cast<std::int64_t>(layer.shape.n_kv_heads) * layer.shape.head_dim;
  LATHE_CHECK(k.dim(1) == n_columns && v.dim(1) == n_columns && static_cast<std::int64_t>(slots.size()) >= k.dim(0));
  for_rows(k.dim(0), 8 * n_columns, [&](std::int64_t begin, std::int64_t end) { write_kv(layer, k, v, slots, begin, end); });
}

void CpuBackend::parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
  pool_.run(n, 1, [&](std::int64_t begin, std::int64_t end, int) { body(begin, end); });
}

std::vector<std::string> cpu_isas() {
  std::vector<std::string> names;
  for (const IsaDescriptor& isa : isas()) {
    if (isa.is_available()) names.emplace_back(isa.name);
  }
  return names;
}

std::vector<std::string_view> all_cpu_isas() {
  std::vector<std::string_view> names;
  for (const IsaDescriptor& isa : isas()) names.push_back(isa.name);
  return names;
}

std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions& options) {
  std::string_view name = options.isa;
  if (name.empty()) {
    if (const char* forced = std::getenv("LATHE_ISA")) name = forced;
  }
  const IsaDescriptor* isa = find_isa(name);
  if (isa == nullptr) return nullptr;
  return std::make_unique<CpuBackend>(*isa, options.n_threads);
}

}  // namespace lathe::kernels
