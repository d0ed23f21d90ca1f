// SPDX-License-Identifier: Apache-2.0
#include "kernels/loader/cuda_module.h"

#include <dlfcn.h>

#include <system_error>

#include "kernels/loader/cuda_entry.h"

namespace lathe::kernels {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr std::size_t kWhyBytes = 512;

LoadedBackend none(std::string why) { return {.backend = nullptr, .why_not = std::move(why)}; }

std::string words_of_places(const std::vector<std::filesystem::path>& places) {
  std::string words;
  for (const std::filesystem::path& place : places) words += (words.empty() ? "" : ", ") + place.string();
  return words;
}

}  // namespace

std::vector<std::filesystem::path> cuda_module_places(const std::filesystem::path& program_folder) {
  return {program_folder / kCudaModuleName, program_folder.parent_path() / "lib" / "lathe" / kCudaModuleName};
}

LoadedBackend load_cuda_module(const std::string& driver, const std::vector<std::filesystem::path>& places, int n_threads) {
  // The driver is opened only to find out whether it exists: the module opens it by itself.
  if (dlopen(driver.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr)
    return none("there is no NVIDIA driver: " + driver + " cannot be opened");
  for (const std::filesystem::path& place : places) {
    std::error_code error;
    if (!std::filesystem::exists(place, error)) continue;
    void* const module = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) return none(std::string("the module of CUDA kernels cannot be opened: ") + dlerror());
    const auto entry = reinterpret_cast<CudaEntry>(dlsym(module, kCudaEntryName));
    if (entry == nullptr) return none(place.string() + " is not a module of CUDA kernels");
    char why[kWhyBytes] = {};
    std::unique_ptr<Backend> backend(entry(LATHE_CUDA_INTERFACE, n_threads, why, sizeof why));
    return {.backend = std::move(backend), .why_not = why};
  }
  return none("the module of CUDA kernels was not found (it is built only where nvcc is installed); looked for " +
              words_of_places(places));
}

LoadedBackend load_cuda_backend(int n_threads) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return load_cuda_module(kDriver, cuda_module_places(program.parent_path()), n_threads);
}

}  // namespace lathe::kernels
