// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/linear.h"

#include <fmt/format.h>

#include "kernels/api/packed_image.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

Result<Linear> Linear::create(kernels::Backend& backend, kernels::WeightFormat format, const LinearShape& shape) {
  Linear linear;
  linear.matrix_ = backend.make_packed(format, shape.n, shape.k);
  if (linear.matrix_ == nullptr) {
    return fail(ErrorCode::resource_exhausted, fmt::format("no memory for a matrix [{}, {}]", shape.n, shape.k), "model");
  }
  if (shape.bias) {
    LATHE_TRY(linear.bias_, DeviceTensor::allocate(backend, Dtype::f32, {shape.n}));
  }
  return linear;
}

std::int64_t Linear::n_bytes(const kernels::Backend& backend, kernels::WeightFormat format, const LinearShape& shape) {
  const std::int64_t bias_bytes = shape.bias ? shape.n * static_cast<std::int64_t>(sizeof(float)) : 0;
  return static_cast<std::int64_t>(backend.packed_bytes(format, shape.n, shape.k)) + bias_bytes;
}

void Linear::load_rows(kernels::Backend& backend, std::int64_t row_begin, const TensorView& weight) {
  backend.pack_rows(*matrix_, row_begin, weight);
}

void Linear::load_bias(kernels::Backend& backend, std::int64_t row_begin, const TensorView& bias) {
  copy_converted(backend, bias_.view().rows(row_begin, bias.dim(0)), bias);
}

void Linear::add_image(WeightImage& image) {
  image.push_back(kernels::image_of(*matrix_));
  if (bias_.n_bytes() > 0) image.push_back(bias_.bytes());
}

}  // namespace lathe::engine
