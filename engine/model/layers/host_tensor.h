// SPDX-License-Identifier: Apache-2.0
// HostTensor: numbers that operations take as a span of host memory, as a leaf of the weight parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/result.h"
#include "engine/model/layers/weight_image.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Shapes: [n] in f32. A default-constructed tensor is absent: no numbers, no memory.
class HostTensor {
 public:
  HostTensor() = default;
  /// Plans the tensor; allocate() makes its numbers, all 0.
  explicit HostTensor(std::int64_t n) : n_(n) {}

  std::int64_t planned_bytes(const kernels::Backend&) const { return n_ * static_cast<std::int64_t>(sizeof(float)); }
  Result<void> allocate(kernels::Backend&) {
    values_.resize(static_cast<std::size_t>(n_));
    return {};
  }
  std::int64_t n_bytes() const { return static_cast<std::int64_t>(std::span(values_).size_bytes()); }
  void add_image(WeightImage& image) {
    if (!values_.empty()) image.push_back(std::as_writable_bytes(std::span(values_)));
  }

  std::span<const float> values() const { return values_; }
  kernels::TensorView view() { return {values_.data(), kernels::Dtype::f32, {std::ssize(values_)}}; }

 private:
  std::int64_t n_ = 0;
  std::vector<float> values_;
};

}  // namespace lathe::engine
