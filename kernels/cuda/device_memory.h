// SPDX-License-Identifier: Apache-2.0
// Memory of a CUDA device: what the host reads and writes too, and what kernels alone see.
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/api/backend.h"

namespace lathe::kernels::cuda {

/// Units: bytes that may still be taken for what stays.
std::size_t free_device_bytes();

/// Memory that the host and the device see (managed). Empty when the device has not that much left: more of it than there is
/// would make the driver move pages back and forth.
Buffer allocate_managed(std::size_t n_bytes);

/// Memory of the device. Owns: its bytes, 256-byte aligned.
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

  /// Without memory, data() is null. `zeroed`: all bytes are 0.
  static DeviceBuffer allocate(std::size_t n_bytes, bool zeroed);
  /// At least so many bytes, whose contents are lost when there were fewer. False when there is no memory.
  bool reserve(std::size_t n_bytes);

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

}  // namespace lathe::kernels::cuda
