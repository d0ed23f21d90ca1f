// SPDX-License-Identifier: Apache-2.0
#include "kernels/loader/cuda_module.h"

#include <dlfcn.h>

#include <system_error>

#include "kernels/loader/cuda_entry.h"

namespace lathe::kernels {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr std::size_t kWhyBytes = 512;

/// The opened module, or the reason why there is none.
struct OpenedModule {
  void* module = nullptr;
  std::string path{}, why_not{};
};

std::string words_of_places(const std::vector<std::filesystem::path>& places) {
  std::string words;
  for (const std::filesystem::path& place : places) words += (words.empty() ? "" : ", ") + place.string();
  return words;
}

OpenedModule open_module(const std::string& driver, const std::vector<std::filesystem::path>& places) {
  // The driver is opened only to find out whether it exists: the module opens it by itself.
  if (dlopen(driver.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr)
    return {.why_not = "there is no NVIDIA driver: " + driver + " cannot be opened"};
  for (const std::filesystem::path& place : places) {
    std::error_code error;
    if (!std::filesystem::exists(place, error)) continue;
    void* const module = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) return {.why_not = std::string("the module of CUDA kernels cannot be opened: ") + dlerror()};
    return {.module = module, .path = place.string()};
  }
  return {.why_not = "the module of CUDA kernels was not found (it is built only where nvcc is installed); looked for " +
                     words_of_places(places)};
}

std::vector<std::filesystem::path> places_of_program() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return cuda_module_places(program.parent_path());
}

}  // namespace

std::vector<std::filesystem::path> cuda_module_places(const std::filesystem::path& program_folder) {
  return {program_folder / kCudaModuleName, program_folder.parent_path() / "lib" / "lathe" / kCudaModuleName};
}

LoadedBackend load_cuda_module(const std::string& driver, const std::vector<std::filesystem::path>& places, int device,
                               int n_threads) {
  const OpenedModule opened = open_module(driver, places);
  if (opened.module == nullptr) return {.backend = nullptr, .why_not = opened.why_not};
  const auto entry = reinterpret_cast<CudaEntry>(dlsym(opened.module, kCudaEntryName));
  if (entry == nullptr) return {.backend = nullptr, .why_not = opened.path + " is not a module of CUDA kernels"};
  char why[kWhyBytes] = {};
  std::unique_ptr<Backend> backend(entry(LATHE_CUDA_INTERFACE, device, n_threads, why, sizeof why));
  return {.backend = std::move(backend), .why_not = why};
}

CudaDevices list_devices_of_module(const std::string& driver, const std::vector<std::filesystem::path>& places) {
  CudaDevices list;
  const OpenedModule opened = open_module(driver, places);
  list.why_not = opened.why_not;
  if (opened.module == nullptr) return list;
  const auto fill = reinterpret_cast<CudaList>(dlsym(opened.module, kCudaListName));
  if (fill == nullptr) {
    list.why_not = opened.path + " is not a module of CUDA kernels of this build";
    return list;
  }
  fill(LATHE_CUDA_INTERFACE, list);
  return list;
}

LoadedBackend load_cuda_backend(int device, int n_threads) {
  return load_cuda_module(kDriver, places_of_program(), device, n_threads);
}

CudaDevices list_cuda_devices() { return list_devices_of_module(kDriver, places_of_program()); }

}  // namespace lathe::kernels
