// SPDX-License-Identifier: Apache-2.0
// Memory of a CUDA device: managed memory, which the host reads and writes too, device memory, which only kernels do, and
// page-locked memory of the host, which copies read and write without its help.
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/api/backend.h"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// Units: bytes that long-lived allocations may still take: the free memory less a reserve for short-lived ones; 0 if the
/// device does not answer.
std::size_t free_device_bytes();

/// Allocates managed memory, which the host and the device access. Empty if n_bytes exceeds free_device_bytes(): managed
/// memory larger than the device's would make the driver move pages back and forth.
Buffer allocate_managed(std::size_t n_bytes);
/// Moves the pages of managed memory to the device, in the stream's order, where the host has left them: a kernel that reads
/// them from the host waits 170 us (the embedding of one token on an H200). Does nothing for memory that was freed.
void move_to_device(Stream stream, void* data, std::size_t n_bytes);
/// Allocates device memory, zeroed. Empty if n_bytes exceeds free_device_bytes().
Buffer allocate_on_device(std::size_t n_bytes);

/// Device memory. Owns: its bytes, 256-byte aligned.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }

  /// Allocates n_bytes; data() is null if no memory is left. `zeroed`: all bytes are 0.
  static DeviceBuffer allocate(std::size_t n_bytes, bool zeroed);
  /// Grows the buffer to at least n_bytes; growing loses its contents. False: no memory is left.
  bool reserve(std::size_t n_bytes);
  /// As reserve(), within an operation: throws DeviceFailure if no memory is left. `what` names the memory in the message.
  void require(std::size_t n_bytes, const char* what);

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t n_bytes() const { return n_bytes_; }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(n_bytes_, other.n_bytes_);
  }
  void* data_ = nullptr;
  std::size_t n_bytes_ = 0;
};

/// Page-locked memory of the host, which kernels may write too. Owns: its bytes.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer&& other) noexcept { swap(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    PinnedBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }

  /// Grows the buffer to at least n_bytes; growing loses its contents. Errors: throws DeviceFailure if no memory is left.
  /// `what` names the memory in the message. Requires: no copy or kernel uses the buffer.
  void require(std::size_t n_bytes, const char* what);

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t n_bytes() const { return n_bytes_; }

 private:
  void swap(PinnedBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(n_bytes_, other.n_bytes_);
  }
  void* data_ = nullptr;
  std::size_t n_bytes_ = 0;
};

}  // namespace lathe::kernels::cuda
