// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_linear.h"

#include <algorithm>
#include <vector>

#include "kernels/cuda/device_matrix.h"
#include "kernels/cuda/rows_of.h"
#include "kernels/cuda/stored_format.h"

namespace lathe::kernels::cuda {
namespace {

bool takes_bf16(const StoredMatrix& matrix) { return !is_in_rows(matrix.layout.storage); }

/// Space in `memory` for x of n_rows, prepared for a product with `matrix`; still to be filled.
PreparedX prepared(DeviceBuffer& memory, std::int64_t n_rows, const StoredMatrix& matrix) {
  const std::int64_t padded_k = matrix.layout.padded_k();
  const bool is_bf16 = takes_bf16(matrix);
  memory.require(static_cast<std::size_t>(prepared_bytes(n_rows, padded_k, is_bf16)), "the input of a product");
  return {.data = memory.data(),
          .n_rows = n_rows,
          .padded_k = padded_k,
          .is_bf16 = is_bf16,
          .in_blocks = takes_blocks(n_rows, matrix.layout)};
}

Rows rows_from(const Rows& rows, std::int64_t first, std::int64_t count) {
  return {.data = rows.data + first * rows.stride, .stride = rows.stride, .n_rows = count, .n_columns = rows.n_columns};
}

/// Requires: x in the layout of x_place(), `first` a multiple of kRowTile.
PreparedX rows_from(const PreparedX& x, std::int64_t first, std::int64_t count) {
  return {.data = static_cast<std::byte*>(x.data) + prepared_bytes(first, x.padded_k, true),
          .n_rows = count,
          .padded_k = x.padded_k};
}

}  // namespace

CudaLinear::WorkSizes CudaLinear::work_sizes(const StepShape& shape) {
  WorkSizes sizes;
  std::vector<WeightFormat> formats{shape.format, shape.expert_format, shape.head_format};
  formats.insert(formats.end(), shape.other_formats.begin(), shape.other_formats.end());
  for (const WeightFormat format : formats) {
    for (const std::int64_t k : {shape.hidden_size, shape.q_size, shape.intermediate_size}) {
      const StoredMatrix matrix = stored_matrix(format, kTile, k);
      const auto bytes =
          static_cast<std::size_t>(prepared_bytes(shape.n_rows, matrix.layout.padded_k(), takes_bf16(matrix)));
      std::size_t& x = k == shape.intermediate_size ? sizes.inner_x : sizes.x;
      x = std::max(x, bytes);
      if (!takes_blocks(shape.n_rows, matrix.layout)) continue;
      sizes.unit_sums = std::max(sizes.unit_sums, static_cast<std::size_t>(unit_sums_bytes(shape.n_rows, matrix.layout)));
      sizes.handed = handed_bytes();
    }
  }
  // Expert routers are f32, whatever the format of the experts.
  const StoredMatrix router = stored_matrix(WeightFormat::f32, kTile, shape.hidden_size);
  sizes.x = std::max(sizes.x, static_cast<std::size_t>(prepared_bytes(shape.n_rows, router.layout.padded_k(), false)));
  sizes.x = std::max(sizes.x, sizes.inner_x);  // a hidden_size equal to intermediate_size was counted in inner_x
  sizes.inner = static_cast<std::size_t>(2 * shape.n_rows * shape.intermediate_size) * sizeof(float);
  return sizes;
}

std::size_t CudaLinear::work_bytes(const StepShape& shape) {
  const WorkSizes sizes = work_sizes(shape);
  return sizes.x + sizes.inner_x + sizes.inner + sizes.unit_sums + sizes.handed;
}

bool CudaLinear::reserve(const StepShape& shape) {
  const WorkSizes sizes = work_sizes(shape);
  return x_.reserve(sizes.x) && inner_x_.reserve(sizes.inner_x) && inner_.reserve(sizes.inner) &&
         unit_sums_.reserve(sizes.unit_sums) && (sizes.handed == 0 || reserve_handed());
}

void CudaLinear::multiply(const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const TensorView& bias) {
  const float* const added = bias.as<float>();
  if (!takes_bf16(matrix)) return multiply_plain(stream_, out, x, matrix, added);
  if (x.in_blocks) return multiply_many(stream_, out, x, matrix, added, scratch(x.n_rows, matrix.layout));
  if (x.n_rows > kMaxFewRows && !is_stored_coded(matrix)) return multiply_many_mma(stream_, out, x, matrix, added);
  for (std::int64_t first = 0; first < x.n_rows; first += kMaxFewRows) {
    const std::int64_t count = std::min(kMaxFewRows, x.n_rows - first);
    multiply_few(stream_, rows_from(out, first, count), rows_from(x, first, count), matrix, added);
  }
}

bool CudaLinear::reserve_handed() {
  if (handed_.data() == nullptr) handed_ = DeviceBuffer::allocate(handed_bytes(), true);
  return handed_.data() != nullptr;
}

ManyScratch CudaLinear::scratch(std::int64_t n_rows, const MatrixLayout& layout) {
  unit_sums_.require(static_cast<std::size_t>(unit_sums_bytes(n_rows, layout)), "the sums of a product's input");
  if (!reserve_handed()) return {.unit_sums = unit_sums_.as<float>()};
  return {.unit_sums = unit_sums_.as<float>(), .handed = handed_.data(), .handed_bytes = handed_.n_bytes()};
}

void CudaLinear::linear(const TensorView& out, const HalfInput& in, const PackedMatrix& matrix, const TensorView& bias) {
  LATHE_CHECK(in.x.dim(1) == matrix.k() && out.dim(1) == matrix.n() && out.dim(0) == in.x.dim(0));
  const StoredMatrix stored = static_cast<const DeviceMatrix&>(matrix).stored();
  multiply(rows_of(out), prepared_input(in, stored), stored, bias);
}

bool CudaLinear::takes_prepared(const PackedMatrix& matrix) {
  const StoredMatrix stored = static_cast<const DeviceMatrix&>(matrix).stored();
  return takes_bf16(stored) && stored.order == nullptr && stored.layout.padded_k() == stored.layout.k;
}

PreparedX CudaLinear::input_of(const PackedMatrix& matrix, std::int64_t n_rows) {
  LATHE_CHECK(takes_prepared(matrix));
  return prepared(x_, n_rows, static_cast<const DeviceMatrix&>(matrix).stored());
}

void CudaLinear::linear(const TensorView& out, const PreparedX& x, const PackedMatrix& matrix, const TensorView& bias) {
  LATHE_CHECK(out.dim(1) == matrix.n() && out.dim(0) == x.n_rows);
  multiply(rows_of(out), x, static_cast<const DeviceMatrix&>(matrix).stored(), bias);
}

void CudaLinear::mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) {
  const std::int64_t m = in.x.dim(0), inner = weights.up.n();
  const StoredMatrix up = static_cast<const DeviceMatrix&>(weights.up).stored();
  const StoredMatrix down = static_cast<const DeviceMatrix&>(weights.down).stored();
  const PreparedX outer = prepared_input(in, up);
  if (weights.gate != nullptr && m <= kMaxGatedRows && down.order == nullptr && takes_bf16(down)) {
    const GatedMatrices gated{.gate = static_cast<const DeviceMatrix*>(weights.gate)->stored(),
                              .up = up,
                              .gate_bias = weights.gate_bias.as<float>(),
                              .up_bias = weights.up_bias.as<float>(),
                              .activation = weights.activation};
    if (are_gated_together(gated.gate, up) && !outer.in_blocks) {
      const PreparedX activated = prepared(inner_x_, m, down);
      multiply_gated(stream_, activated, outer, gated);
      return multiply(rows_of(out), activated, down, weights.down_bias);
    }
  }
  inner_.require(static_cast<std::size_t>(2 * m * inner) * sizeof(float), "the inner rows of an MLP");
  const Rows of_up{.data = inner_.as<float>(), .stride = inner, .n_rows = m, .n_columns = inner};
  multiply(of_up, outer, up, weights.up_bias);
  Rows of_gate;
  if (weights.gate != nullptr) {
    of_gate = {.data = of_up.data + m * inner, .stride = inner, .n_rows = m, .n_columns = inner};
    multiply(of_gate, outer, static_cast<const DeviceMatrix*>(weights.gate)->stored(), weights.gate_bias);
  }
  const PreparedX activated = prepared(inner_x_, m, down);
  prepare_activated(stream_, activated, of_gate, of_up, weights.activation, down.order);
  multiply(rows_of(out), activated, down, weights.down_bias);
}

PreparedX CudaLinear::prepared_input(const HalfInput& in, const StoredMatrix& matrix) {
  const PreparedX to = prepared(x_, in.x.dim(0), matrix);
  if (in.norm && matrix.order == nullptr) {
    cuda::norm(stream_, rows_of(in.normed), rows_of(in.x), rows_of(in.delta), norm_of(*in.norm), to);
    return to;
  }
  if (in.norm) {
    cuda::norm(stream_, rows_of(in.normed), rows_of(in.x), rows_of(in.delta), norm_of(*in.norm), {});
  } else if (in.delta.data != nullptr) {
    cuda::add(stream_, rows_of(in.x), rows_of(in.delta));
  }
  prepare(stream_, to, rows_of(in.norm ? in.normed : in.x), matrix.order);
  return to;
}

}  // namespace lathe::kernels::cuda
