// SPDX-License-Identifier: Apache-2.0
#include "kernels/selftest/random_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "kernels/formats/element.h"

namespace lathe::kernels {

std::uint64_t RandomNumbers::next_bits() {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

float RandomNumbers::next() {
  return static_cast<float>(static_cast<std::int64_t>(next_bits() >> 40) - (1 << 23)) * 0x1p-23F;
}

std::int32_t RandomNumbers::below(std::int32_t n) {
  return static_cast<std::int32_t>(next_bits() % static_cast<std::uint64_t>(n));
}

RandomTensor::RandomTensor(Dtype dtype, std::initializer_list<std::int64_t> dims, RandomNumbers& numbers, float scale,
                           Backend* backend)
    : backend_(backend), view_(nullptr, dtype, dims) {
  allocate();
  for (std::int64_t i = 0; i < view_.n_elements(); ++i) store_element(view_.data, dtype, i, numbers.next() * scale);
}

RandomTensor::RandomTensor(std::initializer_list<std::int64_t> dims, Backend* backend)
    : backend_(backend), view_(nullptr, Dtype::f32, dims) {
  allocate();
}

RandomTensor::RandomTensor(const RandomTensor& other) : backend_(other.backend_), view_(other.view_) {
  allocate();
  if (backend_ != nullptr) backend_->finish();
  std::memcpy(view_.data, other.view_.data, view_.n_bytes());
}

void RandomTensor::allocate() {
  if (backend_ == nullptr) {
    bytes_.resize(view_.n_bytes());
    view_.data = bytes_.data();
    return;
  }
  buffer_ = backend_->allocate(view_.n_bytes());
  if (!buffer_) throw std::bad_alloc();
  view_.data = buffer_.data();
}

double relative_error(const TensorView& a, const TensorView& b) {
  double error = 0;
  double largest = 0;
  for (std::int64_t m = 0; m < b.dim(0); ++m) {
    for (std::int64_t i = 0; i < b.dim(1); ++i) {
      const double want = b.row<float>(m)[i];
      const double got = a.row<float>(m)[i];
      if (std::isfinite(want)) largest = std::max(largest, std::abs(want));
      if (want == got || (std::isnan(want) && std::isnan(got))) continue;
      const bool comparable = std::isfinite(got) && std::isfinite(want);
      error = std::max(error, comparable ? std::abs(got - want) : std::numeric_limits<double>::infinity());
    }
  }
  if (error == 0) return 0;
  return largest > 0 ? error / largest : std::numeric_limits<double>::infinity();
}

}  // namespace lathe::kernels
