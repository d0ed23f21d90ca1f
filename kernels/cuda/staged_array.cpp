// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/staged_array.h"

#include <cstring>

#include "kernels/cuda/ops/check.cuh"

namespace lathe::kernels::cuda {

const void* StagedArray::copy(Stream stream, std::span<const std::byte> bytes) {
  if (bytes.size() == last_.size() && (bytes.empty() || std::memcmp(bytes.data(), last_.data(), bytes.size()) == 0))
    return buffer_.data();
  last_.clear();  // if the copy fails, the next call makes it again
  // Reserves twice the size: contexts grow with each step, and allocation stops the device.
  if (bytes.size() > buffer_.n_bytes()) buffer_.require(2 * bytes.size(), "an array of the step");
  // The host memory is not page-locked, so the driver has its own copy of it before cudaMemcpyAsync returns.
  check(cudaMemcpyAsync(buffer_.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream), "copying an array");
  last_.assign(bytes.begin(), bytes.end());
  return buffer_.data();
}

}  // namespace lathe::kernels::cuda
