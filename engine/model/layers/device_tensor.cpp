// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/device_tensor.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "engine/base/allocation_error.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

namespace {

// Large enough that distributing the pieces costs little compared with converting them.
constexpr std::int64_t kPiece = 1 << 16;

float load(const TensorView& from, std::int64_t i) {
  switch (from.dtype) {
    case Dtype::f16: return kernels::f16_to_f32(from.as<const std::uint16_t>()[i]);
    case Dtype::bf16: return kernels::bf16_to_f32(from.as<const std::uint16_t>()[i]);
    default: return from.as<const float>()[i];
  }
}

void store(const TensorView& to, std::int64_t i, float value) {
  switch (to.dtype) {
    case Dtype::f16: to.as<std::uint16_t>()[i] = kernels::f32_to_f16(value); break;
    case Dtype::bf16: to.as<std::uint16_t>()[i] = kernels::f32_to_bf16(value); break;
    default: to.as<float>()[i] = value; break;
  }
}

}  // namespace

Result<DeviceTensor> DeviceTensor::allocate(kernels::Backend& backend, Dtype dtype,
                                            std::initializer_list<std::int64_t> shape) {
  DeviceTensor tensor(dtype, shape);
  LATHE_TRY_VOID(tensor.allocate(backend));
  return tensor;
}

Result<void> DeviceTensor::allocate(kernels::Backend& backend) {
  if (!is_planned()) return {};
  buffer_ = backend.allocate(view_.n_bytes());
  if (!buffer_) {
    return allocation_error(backend, fmt::format("not enough memory for {} bytes", view_.n_bytes()), "model");
  }
  view_.data = buffer_.data();
  return {};
}

void copy_converted(kernels::Backend& backend, const TensorView& to, const TensorView& from) {
  LATHE_CHECK(to.data != nullptr || to.n_elements() == 0);
  LATHE_CHECK(to.n_elements() == from.n_elements() && is_floating(to.dtype) && is_floating(from.dtype));
  const std::int64_t n = to.n_elements();
  const std::int64_t n_pieces = (n + kPiece - 1) / kPiece;
  backend.parallel_for(n_pieces, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kPiece, last = std::min(end * kPiece, n);
    if (to.dtype == from.dtype) {
      const std::size_t width = size_of(to.dtype);
      std::memcpy(to.as<std::byte>() + static_cast<std::size_t>(first) * width,
                  from.as<const std::byte>() + static_cast<std::size_t>(first) * width,
                  static_cast<std::size_t>(last - first) * width);
      return;
    }
    for (std::int64_t i = first; i < last; ++i) store(to, i, load(from, i));
  });
}

void copy_transposed(kernels::Backend& backend, const TensorView& to, const TensorView& from) {
  LATHE_CHECK(to.dim(0) == from.dim(1) && to.dim(1) == from.dim(0));
  std::vector<float> memory(static_cast<std::size_t>(from.n_elements()));
  const TensorView wide(memory.data(), Dtype::f32, {from.dim(0), from.dim(1)});
  copy_converted(backend, wide, from);
  for (std::int64_t r = 0; r < from.dim(0); ++r) {
    for (std::int64_t c = 0; c < from.dim(1); ++c) to.row<float>(c)[r] = wide.row<float>(r)[c];
  }
}

}  // namespace lathe::engine
