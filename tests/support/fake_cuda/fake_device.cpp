// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_cuda/fake_device.h"

#include <cstdlib>
#include <cstring>

#include "kernels/api/check.h"
#include "kernels/cuda/ops/check.cuh"

namespace lathe::tests {

namespace {

constexpr std::size_t kAlignment = 256;

}  // namespace

thread_local int FakeDevice::current_ = 0;

FakeDevice& FakeDevice::instance() {
  static FakeDevice device;
  return device;
}

void FakeDevice::begin(const DeviceForm& form) {
  LATHE_CHECK(buffers_.empty() && form.n_devices <= static_cast<int>(kMostDevices));
  *this = FakeDevice();
  current_ = 0;
  form_ = form;
}

bool FakeDevice::choose(int index) {
  if (index < 0 || index >= form_.n_devices) return false;
  current_ = index;
  return true;
}

CUstream_st* FakeDevice::stream() { return reinterpret_cast<CUstream_st*>(&streams_[static_cast<std::size_t>(current_)]); }

int FakeDevice::device_of(const CUstream_st* stream) const {
  return static_cast<int>(reinterpret_cast<const char*>(stream) - streams_.data());
}

int FakeDevice::device_of(const void* data) const {
  const auto found = buffers_.find(static_cast<const std::byte*>(data));
  return found == buffers_.end() ? -1 : found->second.device;
}

void* FakeDevice::allocate(std::size_t n_bytes, Memory kind) {
  ++n_allocated_;
  const std::size_t taken = kind == Memory::page_locked ? 0 : n_bytes;
  if (is_lost_ || n_allocated_ == failing_ || taken > free_bytes()) return nullptr;
  void* const data = std::aligned_alloc(kAlignment, (n_bytes + kAlignment - 1) / kAlignment * kAlignment);
  LATHE_CHECK(data != nullptr);
  std::memset(data, 255, n_bytes);
  buffers_[static_cast<const std::byte*>(data)] = {n_bytes, kind, current_};
  n_used_[static_cast<std::size_t>(current_)] += taken;
  return data;
}

bool FakeDevice::free(void* data, bool is_page_locked) {
  const auto found = buffers_.find(static_cast<const std::byte*>(data));
  if (found == buffers_.end() || (found->second.kind == Memory::page_locked) != is_page_locked) {
    violations_.emplace_back("memory was freed that is no allocation");
    return false;
  }
  if (!is_page_locked) n_used_[static_cast<std::size_t>(found->second.device)] -= found->second.n_bytes;
  std::memset(data, 255, found->second.n_bytes);
  buffers_.erase(found);
  std::free(data);
  return true;
}

bool FakeDevice::launch(const char* name, std::function<void()> work) {
  if (++n_launched_ == losing_) is_lost_ = true;
  if (is_lost_) return false;
  ++launches_[name];
  queue_.push_back({name, current_, std::move(work)});
  return true;
}

bool FakeDevice::synchronize() {
  if (is_lost_) {
    queue_.clear();
    return false;
  }
  for (const Work& work : std::exchange(queue_, {})) {
    try {
      working_ = work.device;
      work.run();
    } catch (const DeviceFault& fault) {
      violations_.push_back(std::string(work.name) + ": " + fault.what);
    }
  }
  working_ = -1;
  return true;
}

std::string FakeDevice::violations_text() const {
  std::string text = std::to_string(violations_.size()) + " violations";
  for (const std::string& one : violations_) {
    text += "; " + one;
    if (text.size() > 600) break;
  }
  return text;
}

void FakeDevice::require_range(const void* data, std::size_t n_bytes, std::size_t alignment) const {
  const auto* const first = static_cast<const std::byte*>(data);
  require(reinterpret_cast<std::uintptr_t>(data) % alignment == 0, "memory is not aligned");
  if (n_bytes == 0) return;
  auto found = buffers_.upper_bound(first);
  require(found != buffers_.begin(), "memory is not allocated");
  --found;
  const auto offset = static_cast<std::size_t>(first - found->first);
  require(offset < found->second.n_bytes, "memory is not allocated");
  require(n_bytes <= found->second.n_bytes - offset, "an access goes beyond the end of an allocation");
  require(found->second.kind != Memory::device || found->second.device == (working_ < 0 ? current_ : working_),
          "memory belongs to another device");
}

void launch_kernel(CUstream_st* stream, const char* name, std::function<void()> kernel) {
  LATHE_CHECK(stream != nullptr);
  FakeDevice& device = FakeDevice::instance();
  if (device.device_of(stream) != FakeDevice::current())
    kernels::cuda::check(cudaErrorInvalidResourceHandle, "starting a kernel in a stream of another device");
  if (!device.launch(name, std::move(kernel))) kernels::cuda::check(cudaErrorIllegalAddress, "starting a kernel");
}

}  // namespace lathe::tests
