// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/norm.h"

#include <algorithm>

namespace lathe::engine {

using kernels::Dtype;

NormLayer::NormLayer(const NormConfig& config, std::int64_t n) : config_(config) {
  if (n == 0) return;
  weight_ = DeviceTensor(Dtype::f32, {n});
  if (config.has_bias) bias_ = DeviceTensor(Dtype::f32, {n});
}

void NormLayer::on_allocated(kernels::Backend& /*backend*/) {
  if (!config_.is_weightless || !exists()) return;
  std::fill_n(weight_.view().as<float>(), weight_.view().n_elements(), 1.0F);
}

void NormLayer::load_weight(kernels::Backend& backend, const kernels::TensorView& weight) {
  copy_converted(backend, weight_.view(), weight);
  add_one(0, weight_.view().n_elements());
}

void NormLayer::load_weight_part(kernels::Backend& backend, std::int64_t first, const kernels::TensorView& part) {
  copy_converted(backend, weight_.view().rows(first, part.n_elements()), part);
  add_one(first, part.n_elements());
}

void NormLayer::add_one(std::int64_t first, std::int64_t n) {
  if (!config_.plus_one) return;
  float* const numbers = weight_.view().as<float>() + first;
  for (std::int64_t i = 0; i < n; ++i) numbers[i] += 1;
}

void NormLayer::scale_weight(double factor) {
  float* const numbers = weight_.view().as<float>();
  for (std::int64_t i = 0; i < weight_.view().n_elements(); ++i) numbers[i] *= static_cast<float>(factor);
}

void NormLayer::load_bias(kernels::Backend& backend, const kernels::TensorView& bias) {
  copy_converted(backend, bias_.view(), bias);
}

void UnitNorm::on_allocated() {
  if (ones_.n_bytes() == 0) return;
  std::fill_n(ones_.view().as<float>(), ones_.view().n_elements(), 1.0F);
}

}  // namespace lathe::engine
