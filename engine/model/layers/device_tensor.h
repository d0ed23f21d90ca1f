// SPDX-License-Identifier: Apache-2.0
// DeviceTensor: a tensor that owns its memory on a backend.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Owns: the buffer of view().
class DeviceTensor {
 public:
  DeviceTensor() = default;
  /// Errors: resource_exhausted.
  static Result<DeviceTensor> allocate(kernels::Backend& backend, kernels::Dtype dtype,
                                       std::initializer_list<std::int64_t> shape);

  /// data is null if nothing was allocated, which operations read as "no bias".
  const kernels::TensorView& view() const { return view_; }
  std::int64_t n_bytes() const { return static_cast<std::int64_t>(buffer_.n_bytes()); }
  std::span<std::byte> bytes() { return {static_cast<std::byte*>(buffer_.data()), buffer_.n_bytes()}; }

 private:
  kernels::Buffer buffer_;
  kernels::TensorView view_;
};

/// Copies element by element between floating types, on the backend's threads. Requires: equal shapes, both contiguous.
void copy_converted(kernels::Backend& backend, const kernels::TensorView& to, const kernels::TensorView& from);

}  // namespace lathe::engine
