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
      streams_one_row_(streams_one_row),
      pool_(n_threads > 0 ? n_threads : n_physical_cores()),
      info_{.name = "cpu", .isa = std::string(isa.name), .device = cpu_name(), .n_threads = pool_.n_threads()} {}

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

CpuBackend::WorkSizes CpuBackend::work_sizes(const StepShape& shape) const {
  const auto x_bytes = [&](WeightFormat format, std::int64_t k) {
    return packed_rows_bytes(shape.n_rows, k, linear_ops(format, k));
  };
  const std::int64_t scratch = std::max(mlp_scratch_floats(), attention_floats(shape.group, shape.head_dim));
  WorkSizes sizes{.packed_x = x_bytes(shape.head_format, shape.hidden_size),
                  .packed_inner = 0,
                  .loose_inner = 0,
                  .thread_scratch = thread_scratch_bytes(scratch),
                  .partials = partials_bytes(shape.group, shape.head_dim)};
  std::vector<WeightFormat> formats{shape.format, shape.expert_format};
  formats.insert(formats.end(), shape.other_formats.begin(), shape.other_formats.end());
  for (const WeightFormat format : formats) {
    sizes.packed_x = std::max({sizes.packed_x, x_bytes(format, shape.hidden_size), x_bytes(format, shape.q_size)});
    sizes.packed_inner = std::max(sizes.packed_inner, x_bytes(format, shape.intermediate_size));
    const LinearOps& outer = linear_ops(format, shape.hidden_size);
    for (const WeightFormat of_down : shape.other_formats.empty() ? std::vector{format} : formats) {
      const LinearOps& inner = linear_ops(of_down, shape.intermediate_size);
      if (packs_at_once(outer, inner, shape.has_input_orders)) continue;
      sizes.loose_inner = std::max(sizes.loose_inner, loose_rows_bytes(shape.n_rows, shape.intermediate_size));
    }
  }
  return sizes;
}

std::size_t CpuBackend::work_bytes(const StepShape& shape) const {
  const WorkSizes sizes = work_sizes(shape);
  return reserved_bytes(sizes.packed_x) + reserved_bytes(sizes.packed_inner) + reserved_bytes(sizes.loose_inner) +
         reserved_bytes(sizes.thread_scratch) + reserved_bytes(sizes.partials);
}

bool CpuBackend::reserve(const StepShape& shape) {
  const WorkSizes sizes = work_sizes(shape);
  reserve_items(shape);
  return reserve_host(packed_x_, sizes.packed_x) && reserve_host(packed_inner_, sizes.packed_inner) &&
         reserve_host(loose_inner_, sizes.loose_inner) && reserve_host(thread_scratch_, sizes.thread_scratch) &&
         reserve_host(partials_, sizes.partials);
}

ThreadScratch CpuBackend::thread_scratch(std::int64_t floats_each) {
  LATHE_CHECK(reserve_host(thread_scratch_, thread_scratch_bytes(floats_each)));
  return {static_cast<float*>(thread_scratch_.data()), floats_each};
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
