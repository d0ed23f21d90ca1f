// SPDX-License-Identifier: Apache-2.0
// StagedArray: a device copy of a host array.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// An array equal to the last one is not copied again: all layers of a step have the same positions, slots and block tables.
class StagedArray {
 public:
  /// Copies the array in the stream if it has changed. The pointer is valid until the next call; kernels launched before
  /// that call still read the old contents. Errors: throws DeviceFailure if the device has no memory for the copy.
  template <class T>
  const T* on_device(Stream stream, std::span<const T> array) {
    return static_cast<const T*>(copy(stream, std::as_bytes(array)));
  }

 private:
  const void* copy(Stream stream, std::span<const std::byte> bytes);

  std::vector<std::byte> last_;
  DeviceBuffer buffer_;
};

}  // namespace lathe::kernels::cuda
