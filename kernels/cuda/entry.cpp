// SPDX-License-Identifier: Apache-2.0
// Entry points of the module: its only exported functions.
#include <cstdio>
#include <string>
#include <string_view>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/device_list.h"
#include "kernels/cuda/management_library.h"
#include "kernels/loader/cuda_entry.h"

namespace {

constexpr const char* kOtherBuild = "the module of CUDA kernels belongs to another build of Lathe";

}  // namespace

extern "C" __attribute__((visibility("default"))) lathe::kernels::Backend* lathe_cuda_backend(const char* version,
                                                                                              int device, int n_threads,
                                                                                              char* why, std::size_t n_why) {
  const auto refuse = [&](const std::string& text) -> lathe::kernels::Backend* {
    std::snprintf(why, n_why, "%s", text.c_str());
    return nullptr;
  };
  if (std::string_view(version) != LATHE_CUDA_INTERFACE) return refuse(kOtherBuild);
  const std::string refusal = lathe::kernels::cuda::device_refusal(device);
  if (!refusal.empty()) return refuse(refusal);
  try {
    return new lathe::kernels::cuda::CudaBackend(n_threads, device);
  } catch (const lathe::kernels::cuda::DeviceFailure& failure) {
    return refuse("the CUDA device cannot be used (" + failure.what + "): " + failure.reason);
  }
}

extern "C" __attribute__((visibility("default"))) void lathe_cuda_devices(const char* version,
                                                                          lathe::kernels::CudaDevices& list) {
  if (std::string_view(version) != LATHE_CUDA_INTERFACE) {
    list.why_not = kOtherBuild;
    return;
  }
  list = lathe::kernels::cuda::list_devices(lathe::kernels::cuda::kManagementLibrary);
}
