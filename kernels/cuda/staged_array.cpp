// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/staged_array.h"

#include <cstring>

#include "kernels/cuda/ops/check.cuh"

namespace lathe::kernels::cuda {

const void* StagedArray::copy(Stream stream, std::span<const std::byte> bytes) {
  if (bytes.size() == last_.size() && (bytes.empty() || std::memcmp(bytes.data(), last_.data(), bytes.size()) == 0))
    return buffer_.data();
  last_.assign(bytes.begin(), bytes.end());
  // Room for twice as much: contexts grow with each step, and taking memory stops the device.
  if (bytes.size() > buffer_.n_bytes()) LATHE_CHECK(buffer_.reserve(2 * bytes.size()));
  // Of memory that is not locked, the driver has a copy of its own before this returns.
  check(cudaMemcpyAsync(buffer_.data(), last_.data(), bytes.size(), cudaMemcpyHostToDevice, stream), "copying an array");
  return buffer_.data();
}

}  // namespace lathe::kernels::cuda
