// SPDX-License-Identifier: Apache-2.0
// StepArrays: copies on the device of the host arrays that operations take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// Owns: page-locked memory, from which arrays are copied in the stream, and device memory of the same size. Neither is used
/// again before end_step(), so that no copy reads bytes that the host has overwritten, and no kernel an array that a later
/// copy has overwritten. Functions throw DeviceFailure if there is no memory for an array.
class StepArrays {
 public:
  explicit StepArrays(Stream stream) : stream_(stream) {}

  /// Until end_step() the caller leaves arrays that it has given unchanged, so each is copied once. `arrays`: those that are
  /// known now; one copy moves them all.
  void begin_step(std::span<const std::span<const std::int32_t>> arrays);
  /// Requires: the copies, and all kernels that read arrays, have ended.
  void end_step();

  /// The array on the device, for operations until end_step(). Outside a step an array that is given again is compared with
  /// its copy.
  template <class T>
  const T* on_device(std::span<const T> array) {
    return reinterpret_cast<const T*>(find(std::as_bytes(array)).on_device);
  }
  /// As on_device(), for an array that may change within the step: it is copied each time.
  template <class T>
  const T* copied(std::span<const T> array) {
    return reinterpret_cast<const T*>(copy_of(std::as_bytes(array)).on_device);
  }
  /// Number of the current step; 0: none has begun.
  std::uint64_t step() const { return is_in_step_ ? n_steps_ : 0; }
  /// The first `count` of `rows` on the device. Requires: each of them is in [0, n).
  const std::int32_t* rows_on_device(std::span<const std::int32_t> rows, std::int64_t count, std::int64_t n);

 private:
  /// Memory for arrays, filled from its beginning.
  struct Chunk {
    PinnedBuffer host;
    DeviceBuffer device;
    std::size_t n_used = 0;
  };
  /// An array that has a copy.
  struct Known {
    const std::byte* array = nullptr;
    std::size_t n_bytes = 0;
    const std::byte* on_host = nullptr;
    const std::byte* on_device = nullptr;
    std::int64_t end = -1;  ///< the array's indices are in [0, end); -1: not known yet
  };

  /// Requires: the copies, and all kernels that read arrays, have ended.
  void forget();
  Known& find(std::span<const std::byte> bytes);
  Known copy_of(std::span<const std::byte> bytes);
  void make_room(std::size_t n_bytes);
  /// Copies the array to the chunk's page-locked memory. Requires: room.
  Known stage(std::span<const std::byte> bytes);
  void copy(const Known& first, std::size_t n_bytes);

  Stream stream_;
  std::vector<Chunk> chunks_;  ///< the last one is being filled
  std::vector<Known> known_;
  Known other_;  ///< an array beyond those that known_ keeps
  bool is_in_step_ = false;
  bool is_idle_ = true;  ///< no array was given since end_step()
  std::uint64_t n_steps_ = 0;
};

}  // namespace lathe::kernels::cuda
