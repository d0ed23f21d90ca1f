// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/staged_array.h"

#include <cstring>

#include "kernels/cuda/ops/check.cuh"

namespace lathe::kernels::cuda {

const void* StagedArray::copy(Stream stream, std::span<const std::byte> bytes) {
  if (bytes.size() == last_.size() && (bytes.empty() || std::memcmp(bytes.data(), last_.data(), bytes.size()) == 0))
    return buffer_.data();
  last_.assign(bytes.begin(), bytes.end());
  // Reserves twice the size: contexts grow with each step, and allocation stops the device.
  if (bytes.size() > buffer_.n_bytes()) LATHE_CHECK(buffer_.reserve(2 * bytes.size()));
  // The host memory is not page-locked, so the driver has its own copy of it before cudaMemcpyAsync returns.
  check(cudaMemcpyAsync(buffer_.data(), last_.data(), bytes.size(), cudaMemcpyHostToDevice, stream), "copying an array");
  return buffer_.data();
}

}  // namespace lathe::kernels::cuda
