// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/linear.h"

#include <algorithm>
#include <numeric>

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

Linear::Linear(const MatrixForm& form, const LinearShape& shape) : matrix_(form.format, shape.n, shape.k) {
  if (form.is_ordered) order_ = DeviceTensor(Dtype::i32, {shape.k});
  if (shape.bias) bias_ = DeviceTensor(Dtype::f32, {shape.n});
}

void Linear::on_allocated() {
  if (order_.n_bytes() == 0) return;
  load_order({});
  matrix_.matrix().set_input_order({order_.view().as<const std::int32_t>(), static_cast<std::size_t>(matrix_.k())});
}

void Linear::load_rows(kernels::Backend& backend, std::int64_t row_begin, const TensorView& weight) {
  LATHE_CHECK(matrix_.has_memory());
  backend.pack_rows(matrix_.matrix(), row_begin, weight);
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

}  // namespace lathe::engine
