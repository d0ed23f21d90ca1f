// SPDX-License-Identifier: Apache-2.0
// Functions of the CUDA runtime that the backend calls, for FakeDevice. Work of cudaMemset() does not wait for streams,
// which are non-blocking.
#include <cuda_runtime_api.h>

#include <cstring>

#include "tests/support/fake_cuda/fake_device.h"

using lathe::tests::FakeDevice;

struct CUevent_st {
  int n_records = 0;
};

namespace {

FakeDevice& device() { return FakeDevice::instance(); }

cudaError_t status_of(bool is_done) { return is_done ? cudaSuccess : cudaErrorIllegalAddress; }

cudaError_t allocate(void** data, std::size_t n_bytes, FakeDevice::Memory kind) {
  *data = device().allocate(n_bytes, kind);
  if (device().is_lost()) return cudaErrorIllegalAddress;
  return *data != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

/// A range of a copy: on the device, or in any memory of the host.
const std::byte* range(const void* data, std::size_t n_bytes, bool is_on_device) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  return is_on_device ? FakeDevice::elements(bytes, static_cast<std::int64_t>(n_bytes)) : bytes;
}

void copy(void* to, const void* from, std::size_t n_bytes, cudaMemcpyKind kind) {
  auto* const target = const_cast<std::byte*>(range(to, n_bytes, kind == cudaMemcpyHostToDevice));
  if (n_bytes > 0) std::memcpy(target, range(from, n_bytes, kind == cudaMemcpyDeviceToHost), n_bytes);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device().form().n_devices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* index) {
  *index = FakeDevice::current();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int index) {
  if (!device().choose(index)) return cudaErrorInvalidDevice;
  return status_of(!device().is_lost());
}
cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int, int index) {
  std::strcpy(bus_id, "0000:00:00.0");
  bus_id[6] = static_cast<char>('0' + index);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  *attributes = {};
  attributes->device = device().device_of(data);
  return attributes->device >= 0 ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  if (index < 0 || index >= device().form().n_devices) return cudaErrorInvalidDevice;
  *properties = {};
  properties->totalGlobalMem = device().form().n_bytes;
  std::strcpy(properties->name, "fake device");
  properties->major = device().form().major;
  properties->minor = device().form().minor;
  properties->multiProcessorCount = device().form().n_processors;
  properties->sharedMemPerBlockOptin = std::size_t{227} << 10;
  properties->concurrentManagedAccess = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = device().form().n_processors; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = device().form().major; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = device().form().minor; return cudaSuccess;
    default: return cudaErrorInvalidValue;
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "an illegal memory access was encountered";
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorIllegalAddress";
}
cudaError_t cudaGetLastError() { return status_of(!device().is_lost()); }

cudaError_t cudaMalloc(void** data, std::size_t n_bytes) { return allocate(data, n_bytes, FakeDevice::Memory::device); }
cudaError_t cudaMallocManaged(void** data, std::size_t n_bytes, unsigned) {
  return allocate(data, n_bytes, FakeDevice::Memory::managed);
}
cudaError_t cudaMallocHost(void** data, std::size_t n_bytes) {
  return allocate(data, n_bytes, FakeDevice::Memory::page_locked);
}
cudaError_t cudaFree(void* data) {
  const bool is_freed = data == nullptr || device().free(data, false);
  return device().is_lost() ? cudaErrorIllegalAddress : is_freed ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaFreeHost(void* data) {
  const bool is_freed = data == nullptr || device().free(data, true);
  return device().is_lost() ? cudaErrorIllegalAddress : is_freed ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = device().free_bytes();
  *total = device().form().n_bytes;
  return status_of(!device().is_lost());
}

cudaError_t cudaMemset(void* data, int value, std::size_t n_bytes) {
  if (device().is_lost()) return cudaErrorIllegalAddress;
  if (device().device_of(data) != FakeDevice::current()) return cudaErrorInvalidValue;
  try {
    std::memset(FakeDevice::elements(static_cast<std::byte*>(data), static_cast<std::int64_t>(n_bytes)), value, n_bytes);
  } catch (const lathe::tests::DeviceFault&) {
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n_bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (device().device_of(stream) != FakeDevice::current()) return cudaErrorInvalidResourceHandle;
  return status_of(device().launch("copy", [=] { copy(to, from, n_bytes, kind); }));
}
/// All memory is the host's: there is nothing to move.
#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, cudaMemLocation, unsigned, cudaStream_t) { return cudaSuccess; }
#else
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t) { return cudaSuccess; }
#endif
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                              std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (device().device_of(stream) != FakeDevice::current()) return cudaErrorInvalidResourceHandle;
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  return status_of(device().launch("copy of rows", [=] {
    for (std::size_t row = 0; row < height; ++row)
      copy(static_cast<std::byte*>(to) + row * to_pitch, static_cast<const std::byte*>(from) + row * from_pitch, width,
           kind);
  }));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  *stream = device().stream();
  return flags == cudaStreamNonBlocking ? status_of(!device().is_lost()) : cudaErrorInvalidValue;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return status_of(device().synchronize()); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return status_of(device().synchronize()); }
cudaError_t cudaDeviceSynchronize() { return status_of(device().synchronize()); }

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  ++event->n_records;
  return status_of(!device().is_lost());
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return status_of(device().synchronize()); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  if (begin->n_records != end->n_records) return cudaErrorInvalidValue;
  *ms = 1;
  return cudaSuccess;
}

}  // extern "C"
