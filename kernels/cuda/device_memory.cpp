// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device_memory.h"

#include "kernels/cuda/ops/once_per_device.cuh"

namespace lathe::kernels::cuda {
namespace {

// Memory that weights, cache and activations leave free for the driver, for copies in flight and for arrays of a step.
constexpr std::size_t kLeftAlone = std::size_t{256} << 20;

/// Chooses the device that has the memory, for the calling thread.
void use_device_of(const void* data) {
  cudaPointerAttributes attributes{};
  const bool is_known = cudaPointerGetAttributes(&attributes, data) == cudaSuccess;
  if (!is_known || cudaSetDevice(attributes.device) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

/// Frees memory after all streams have finished, since their work may still use it. A lost device has nothing to give back;
/// the next operation reports the loss.
void give_back(void* data) {
  use_device_of(data);
  const bool is_finished = cudaDeviceSynchronize() == cudaSuccess;
  if (cudaFree(data) != cudaSuccess || !is_finished) static_cast<void>(cudaGetLastError());
}

void free_memory(void* data, std::size_t) { give_back(data); }

/// A buffer of memory that `allocate` takes, zeroed. Empty if n_bytes exceeds free_device_bytes().
template <class Allocate>
Buffer zeroed_buffer(std::size_t n_bytes, const Allocate& allocate) {
  if (n_bytes > free_device_bytes()) return {};
  void* data = nullptr;
  const std::size_t taken = n_bytes == 0 ? 1 : n_bytes;
  if (allocate(&data, taken) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // clears the error, which the empty buffer reports
    return {};
  }
  Buffer buffer(data, n_bytes, free_memory);
  check(cudaMemset(data, 0, taken), "clearing memory");
  check(cudaDeviceSynchronize(), "clearing memory");
  return buffer;
}

}  // namespace

std::size_t free_device_bytes() {
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return free > kLeftAlone ? free - kLeftAlone : 0;
}

Buffer allocate_managed(std::size_t n_bytes) {
  return zeroed_buffer(n_bytes, [](void** data, std::size_t n) { return cudaMallocManaged(data, n); });
}

void move_to_device(Stream stream, void* data, std::size_t n_bytes) {
  const int index = current_device();
#if CUDART_VERSION >= 13000
  const cudaMemLocation device{.type = cudaMemLocationTypeDevice, .id = index};
  const cudaError_t status = cudaMemPrefetchAsync(data, n_bytes, device, 0, stream);
#else
  const cudaError_t status = cudaMemPrefetchAsync(data, n_bytes, index, stream);
#endif
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
}

Buffer allocate_on_device(std::size_t n_bytes) {
  return zeroed_buffer(n_bytes, [](void** data, std::size_t n) { return cudaMalloc(data, n); });
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) give_back(data_);
}

DeviceBuffer DeviceBuffer::allocate(std::size_t n_bytes, bool zeroed) {
  DeviceBuffer buffer;
  if (cudaMalloc(&buffer.data_, n_bytes == 0 ? 1 : n_bytes) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    buffer.data_ = nullptr;
    return buffer;
  }
  buffer.n_bytes_ = n_bytes;
  if (zeroed) {
    check(cudaMemset(buffer.data_, 0, n_bytes), "clearing memory");
    check(cudaDeviceSynchronize(), "clearing memory");
  }
  return buffer;
}

bool DeviceBuffer::reserve(std::size_t n_bytes) {
  if (n_bytes_ >= n_bytes) return true;
  *this = DeviceBuffer();
  *this = allocate(n_bytes, false);
  return data_ != nullptr;
}

void DeviceBuffer::require(std::size_t n_bytes, const char* what) {
  if (!reserve(n_bytes)) throw DeviceFailure{.what = what, .reason = {}, .is_memory = true, .n_bytes = n_bytes};
}

PinnedBuffer::~PinnedBuffer() {
  // A lost device has nothing to give back; the next operation reports the loss.
  if (data_ != nullptr && cudaFreeHost(data_) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

void PinnedBuffer::require(std::size_t n_bytes, const char* what) {
  if (n_bytes_ >= n_bytes) return;
  *this = PinnedBuffer();
  if (cudaMallocHost(&data_, n_bytes) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    data_ = nullptr;
    throw DeviceFailure{.what = what, .reason = "no page-locked memory of the host is left", .is_memory = false};
  }
  n_bytes_ = n_bytes;
}

}  // namespace lathe::kernels::cuda
