// SPDX-License-Identifier: Apache-2.0
// StagedArray: a copy on the device of an array of the host.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// All layers of a step have the same positions, slots and block tables: what is there already is not copied again.
class StagedArray {
 public:
  /// Valid until the next call; kernels that are in the stream before it read what they were given.
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
