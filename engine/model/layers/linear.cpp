// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernels/api/packed_image.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

Result<Linear> Linear::create(kernels::Backend& backend, const MatrixForm& form, const LinearShape& shape) {
  Linear linear;
  linear.matrix_ = backend.make_packed(form.format, shape.n, shape.k);
  if (linear.matrix_ == nullptr) {
    return fail(ErrorCode::resource_exhausted, fmt::format("not enough memory for a matrix [{}, {}]", shape.n, shape.k),
                "model");
  }
  if (form.is_ordered) {
    LATHE_TRY(linear.order_, DeviceTensor::allocate(backend, Dtype::i32, {shape.k}));
    linear.load_order({});
    linear.matrix_->set_input_order({linear.order_.view().as<const std::int32_t>(), static_cast<std::size_t>(shape.k)});
  }
  if (shape.bias) {
    LATHE_TRY(linear.bias_, DeviceTensor::allocate(backend, Dtype::f32, {shape.n}));
  }
  return linear;
}

std::int64_t Linear::n_bytes(const kernels::Backend& backend, const MatrixForm& form, const LinearShape& shape) {
  const std::int64_t bias_bytes = shape.bias ? shape.n * static_cast<std::int64_t>(sizeof(float)) : 0;
  const std::int64_t order_bytes = form.is_ordered ? shape.k * static_cast<std::int64_t>(sizeof(std::int32_t)) : 0;
  return static_cast<std::int64_t>(backend.packed_bytes(form.format, shape.n, shape.k)) + order_bytes + bias_bytes;
}

void Linear::load_rows(kernels::Backend& backend, std::int64_t row_begin, const TensorView& weight) {
  backend.pack_rows(*matrix_, row_begin, weight);
}

void Linear::load_bias(kernels::Backend& backend, std::int64_t row_begin, const TensorView& bias) {
  copy_converted(backend, bias_.view().rows(row_begin, bias.dim(0)), bias);
}

void Linear::load_order(std::span<const std::int32_t> order) {
  auto* const own = order_.view().as<std::int32_t>();
  const auto n = own != nullptr ? static_cast<std::size_t>(order_.view().dim(0)) : 0;
  LATHE_CHECK(order.empty() || order.size() == n);
  if (order.empty()) std::iota(own, own + n, 0);
  else std::copy(order.begin(), order.end(), own);
}

void Linear::add_image(WeightImage& image) {
  image.push_back(kernels::image_of(*matrix_));
  if (order_.n_bytes() > 0) image.push_back(order_.bytes());
  if (bias_.n_bytes() > 0) image.push_back(bias_.bytes());
}

}  // namespace lathe::engine
