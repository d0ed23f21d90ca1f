// SPDX-License-Identifier: Apache-2.0
// Without a driver, a module or a device, it is said which of them is missing.
#include "kernels/loader/cuda_module.h"

#include <dlfcn.h>

#include <QTemporaryDir>
#include <QTest>
#include <fstream>

#include "kernels/loader/cuda_entry.h"
#include "tests/support/test_class.h"

namespace cuda_module_test {

using namespace lathe::kernels;

namespace {

// Any library that can be opened stands for the driver here.
constexpr const char* kSomeLibrary = "libc.so.6";

bool says(const LoadedBackend& loaded, const std::string& words) {
  return loaded.backend == nullptr && loaded.why_not.find(words) != std::string::npos;
}

std::filesystem::path file_in(const QTemporaryDir& folder, const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(folder.path().toStdString()) / name;
  std::ofstream(path) << text;
  return path;
}

}  // namespace

class CudaModuleTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void without_a_driver_nothing_is_looked_for() {
    const auto loaded = load_cuda_module("libnodriver.so.1", {}, 0, 1);
    QVERIFY2(says(loaded, "no NVIDIA driver: libnodriver.so.1"), loaded.why_not.c_str());
  }

  void without_a_module_no_device_is_listed() {
    const CudaDevices no_driver = list_devices_of_module("libnodriver.so.1", {});
    QVERIFY(no_driver.devices.empty());
    QVERIFY2(no_driver.why_not.find("no NVIDIA driver: libnodriver.so.1") != std::string::npos, no_driver.why_not.c_str());
    const CudaDevices no_module = list_devices_of_module(kSomeLibrary, {"/nowhere/one.so"});
    QVERIFY2(no_module.why_not.find("looked for /nowhere/one.so") != std::string::npos, no_module.why_not.c_str());
    const CudaDevices here = list_cuda_devices();
    QVERIFY(here.devices.empty() == !here.why_not.empty());
  }

  void a_module_that_is_nowhere_is_named_with_its_places() {
    const auto loaded = load_cuda_module(kSomeLibrary, {"/nowhere/one.so", "/nowhere/two.so"}, 0, 1);
    QVERIFY2(says(loaded, "/nowhere/one.so, /nowhere/two.so"), loaded.why_not.c_str());
  }

  void what_is_no_library_is_not_opened() {
    const QTemporaryDir folder;
    const auto path = file_in(folder, "liblathe_cuda.so", "no library");
    const auto loaded = load_cuda_module(kSomeLibrary, {path}, 0, 1);
    QVERIFY2(says(loaded, "cannot be opened"), loaded.why_not.c_str());
  }

  void a_library_of_something_else_is_refused() {
    Dl_info found{};
    QVERIFY(dladdr(reinterpret_cast<void*>(&qVersion), &found) != 0);
    const std::filesystem::path library = std::filesystem::canonical(found.dli_fname);  // Qt's
    const auto loaded = load_cuda_module(kSomeLibrary, {"/nowhere/one.so", library}, 0, 1);
    QVERIFY2(says(loaded, "is not a module of CUDA kernels"), loaded.why_not.c_str());
  }

  void it_is_looked_for_beside_the_program_and_in_lib() {
    const auto places = cuda_module_places("/opt/lathe/bin");
    QCOMPARE(places.size(), std::size_t{2});
    QCOMPARE(places[0].string(), std::string("/opt/lathe/bin/liblathe_cuda.so"));
    QCOMPARE(places[1].string(), std::string("/opt/lathe/lib/lathe/liblathe_cuda.so"));
  }

  /// It says so before it asks for a device.
  void a_module_of_another_build_is_refused() {
    const auto module_path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / kCudaModuleName;
    if (!std::filesystem::exists(module_path)) {
      const auto loaded = load_cuda_module(kSomeLibrary, {module_path}, 0, 1);
      QVERIFY2(says(loaded, "it is built only where nvcc is installed"), loaded.why_not.c_str());
      return;
    }
    void* const module = dlopen(module_path.c_str(), RTLD_NOW | RTLD_LOCAL);
    QVERIFY2(module != nullptr, dlerror());
    const auto entry = reinterpret_cast<CudaEntry>(dlsym(module, kCudaEntryName));
    QVERIFY(entry != nullptr);
    char why[128] = {};
    QVERIFY(entry("of another build", 0, 1, why, sizeof why) == nullptr);
    QCOMPARE(std::string(why), std::string("the module of CUDA kernels belongs to another build of Lathe"));
  }

  /// The module of this build has the right version: past that check, only a device can be missing.
  void the_module_of_this_build_fits() {
    const auto module_path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / kCudaModuleName;
    const auto loaded = load_cuda_module(kSomeLibrary, {module_path}, 0, 1);
    if (!std::filesystem::exists(module_path)) {
      QVERIFY2(says(loaded, "it is built only where nvcc is installed"), loaded.why_not.c_str());
      return;
    }
    QVERIFY2(!says(loaded, "another build") && !says(loaded, "cannot be opened"), loaded.why_not.c_str());
    QVERIFY(loaded.backend != nullptr || !loaded.why_not.empty());
  }

  void there_is_a_backend_or_a_reason() {
    const auto loaded = load_cuda_backend(0, 1);
    QVERIFY((loaded.backend == nullptr) == !loaded.why_not.empty());
    if (loaded.backend) QCOMPARE(loaded.backend->info().name, std::string("cuda"));
  }
};

LATHE_TEST(CudaModuleTest)

}  // namespace cuda_module_test
#include "cuda_module_test.moc"
