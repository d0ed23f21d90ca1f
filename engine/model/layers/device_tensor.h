// SPDX-License-Identifier: Apache-2.0
// DeviceTensor: a tensor that owns its memory on a backend.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "engine/api/result.h"
#include "engine/model/layers/weight_image.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Owns: the buffer of view(). A default-constructed tensor is absent: no shape, no memory.
class DeviceTensor {
 public:
  DeviceTensor() = default;
  /// Plans the tensor; allocate() gives view() its data.
  DeviceTensor(kernels::Dtype dtype, std::initializer_list<std::int64_t> shape) : view_(nullptr, dtype, shape) {}
  /// Errors: resource_exhausted.
  static Result<DeviceTensor> allocate(kernels::Backend& backend, kernels::Dtype dtype,
                                       std::initializer_list<std::int64_t> shape);

  std::int64_t planned_bytes(const kernels::Backend&) const {
    return is_planned() ? static_cast<std::int64_t>(view_.n_bytes()) : 0;
  }
  /// Errors: resource_exhausted.
  Result<void> allocate(kernels::Backend& backend);
  void add_image(WeightImage& image) {
    if (n_bytes() > 0) image.push_back(bytes());
  }

  /// data is null if nothing was allocated, which operations read as "no bias".
  const kernels::TensorView& view() const { return view_; }
  std::int64_t n_bytes() const { return static_cast<std::int64_t>(buffer_.n_bytes()); }
  std::span<std::byte> bytes() { return {static_cast<std::byte*>(buffer_.data()), buffer_.n_bytes()}; }

 private:
  bool is_planned() const { return view_.rank > 0; }

  kernels::Buffer buffer_;
  kernels::TensorView view_;
};

/// Copies element by element between floating types, on the backend's threads. Requires: equal shapes, both contiguous.
void copy_converted(kernels::Backend& backend, const kernels::TensorView& to, const kernels::TensorView& from);
/// to [n, m] f32 = the transpose of from [m, n] of any floating type: small tensors, on one thread.
void copy_transposed(kernels::Backend& backend, const kernels::TensorView& to, const kernels::TensorView& from);

}  // namespace lathe::engine
