// SPDX-License-Identifier: Apache-2.0
// FakeDevice: CUDA devices in memory of the host, whose functions of the runtime are in cuda_runtime.cpp and whose kernels
// are plain loops. They run work as late as CUDA allows, and find accesses outside of allocated memory, in the memory of
// another device, and calls of a thread that did not choose the device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

struct CUstream_st;

namespace lathe::tests {

/// A device as the runtime describes it.
struct DeviceForm {
  int major = 9, minor = 0;  ///< compute capability
  int n_processors = 132;
  std::size_t n_bytes = std::size_t{8} << 30;
  int n_devices = 1;  ///< devices of this form
};

/// Keeps copies and kernels of streams until the host waits for them, and runs them then in order. New memory is filled
/// with bytes of 255: NaN as any float, and -1.
class FakeDevice {
 public:
  enum class Memory : std::uint8_t { device, managed, page_locked };

  /// The devices, which cuda_runtime.cpp and kernels use.
  static FakeDevice& instance();

  /// A new device. Requires: all memory of the old one is freed.
  void begin(const DeviceForm& form);
  const DeviceForm& form() const { return form_; }
  /// Index of the calling thread's device: 0 until the thread chooses another one. False: there is no such device.
  static int current() { return current_; }
  bool choose(int index);
  /// The stream of the current device, and the device of a stream.
  CUstream_st* stream();
  int device_of(const CUstream_st* stream) const;

  /// Null if no memory is left, or if fail_allocation() says so.
  void* allocate(std::size_t n_bytes, Memory kind);
  /// False if it is no allocation of that kind.
  bool free(void* data, bool is_page_locked);
  /// Free memory of the current device.
  std::size_t free_bytes() const { return form_.n_bytes - n_used_[static_cast<std::size_t>(current())]; }
  /// Device of an allocation; -1: it is none.
  int device_of(const void* data) const;
  std::size_t n_buffers() const { return buffers_.size(); }
  /// Lets the n-th allocation from now on (from 1) fail, or none if n is 0.
  void fail_allocation(std::int64_t n) { failing_ = n == 0 ? -1 : n_allocated_ + n; }
  std::int64_t n_allocated() const { return n_allocated_; }

  /// Adds work to the stream. False: the device is lost.
  bool launch(const char* name, std::function<void()> work);
  /// Runs the work that was added so far. False: the device is lost.
  bool synchronize();
  /// Lets the n-th launch from now on (from 1) lose the device.
  void lose_at(std::int64_t n) { losing_ = n_launched_ + n; }
  bool is_lost() const { return is_lost_; }
  std::int64_t n_launched() const { return n_launched_; }
  /// Launches of each name so far.
  const std::map<std::string, std::int64_t>& launches() const { return launches_; }

  /// Errors of kernels and copies so far. The work that has one ends there.
  const std::vector<std::string>& violations() const { return violations_; }
  /// The first ones, for messages.
  std::string violations_text() const;

  /// `count` elements that a kernel accesses. Errors: throws DeviceFault if they are not in one allocation, or not aligned.
  template <class T>
  static T* elements(T* data, std::int64_t count) {
    instance().require_range(data, static_cast<std::size_t>(count) * sizeof(T), alignof(T));
    return data;
  }

 private:
  struct Range {
    std::size_t n_bytes = 0;
    Memory kind = Memory::device;
    int device = 0;
  };
  struct Work {
    const char* name;
    int device;
    std::function<void()> run;
  };
  void require_range(const void* data, std::size_t n_bytes, std::size_t alignment) const;

  static constexpr std::size_t kMostDevices = 8;
  static thread_local int current_;

  DeviceForm form_;
  std::map<const std::byte*, Range> buffers_;
  std::array<std::size_t, kMostDevices> n_used_{};
  std::array<char, kMostDevices> streams_{};
  int working_ = -1;  ///< device whose work runs; -1: none
  std::vector<Work> queue_;
  std::vector<std::string> violations_;
  std::map<std::string, std::int64_t> launches_;
  std::int64_t n_allocated_ = 0, failing_ = -1, n_launched_ = 0, losing_ = -1;
  bool is_lost_ = false;
};

/// An access outside of allocated memory, or an argument that a kernel does not take.
struct DeviceFault {
  std::string what;
};
/// Throws DeviceFault unless `is_met`. For kernels.
inline void require(bool is_met, const char* what) {
  if (!is_met) throw DeviceFault{what};
}

/// Adds a kernel to the stream. Errors: throws DeviceFailure if the device is lost or is not the current one, as a launch
/// does.
void launch_kernel(CUstream_st* stream, const char* name, std::function<void()> kernel);

}  // namespace lathe::tests
