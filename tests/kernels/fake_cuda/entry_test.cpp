// SPDX-License-Identifier: Apache-2.0
// The entry of the module of CUDA kernels, on the fake device: it opens a device that the kernels suit, or says why not.
#include <QTest>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "kernels/cuda/device_list.h"
#include "kernels/loader/cuda_entry.h"
#include "tests/support/fake_cuda/fake_device.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

extern "C" lathe::kernels::Backend* lathe_cuda_backend(const char* version, int device, int n_threads, char* why,
                                                       std::size_t n_why);
extern "C" void lathe_cuda_devices(const char* version, lathe::kernels::CudaDevices& list);

namespace {

struct NvmlMemory {
  unsigned long long total, free, used;
};
constexpr unsigned long long kGib = 1ull << 30;
unsigned long long nvml_total = 0, nvml_free = 0;
int n_begun = 0;
char bus_of_device = 0;

}  // namespace

// Functions of NVML as nvml.h declares them.
extern "C" {
int nvmlInit_v2() {
  ++n_begun;
  return nvml_total > 0 ? 0 : 12;
}
int nvmlShutdown() {
  --n_begun;
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, void** device) {
  bus_of_device = pci_bus_id[6];
  *device = &bus_of_device;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, NvmlMemory* memory) {
  if (device != &bus_of_device) return 2;
  *memory = {nvml_total, nvml_free - static_cast<unsigned>(bus_of_device - '0'), nvml_total - nvml_free};
  return 0;
}
}

namespace entry_test {

using namespace lathe::kernels;
using namespace lathe::tests;

class EntryTest : public QObject {
  Q_OBJECT

 private:
  std::string why_;
  std::unique_ptr<Backend> open(const char* version, int device = 0) {
    char why[200] = {};
    std::unique_ptr<Backend> backend(lathe_cuda_backend(version, device, 1, why, sizeof(why)));
    why_ = why;
    return backend;
  }

 private Q_SLOTS:
  void a_device_is_opened() {
    FakeDevice::instance().begin({});
    const auto backend = open("fake");
    QVERIFY2(backend != nullptr, why_.c_str());
    QCOMPARE(backend->info().name, std::string("cuda"));
    QCOMPARE(backend->info().isa, std::string("sm_90"));
    QCOMPARE(backend->info().device, std::string("fake device"));
  }
  void another_interface_is_refused() {
    FakeDevice::instance().begin({});
    QVERIFY(open("other") == nullptr);
    VERIFY_HAS(why_, "belongs to another build");
    CudaDevices list;
    lathe_cuda_devices("other", list);
    QVERIFY(list.devices.empty());
    VERIFY_HAS(list.why_not, "belongs to another build");
  }
  void a_device_that_is_not_there_is_refused_with_those_that_are() {
    FakeDevice::instance().begin({.n_devices = 2});
    QVERIFY(open("fake", 1) != nullptr);
    for (const int device : {2, -1}) {
      QVERIFY(open("fake", device) == nullptr);
      VERIFY_HAS(why_, "there is no CUDA device " + std::to_string(device) +
                           "; this machine has cuda:0 (fake device), cuda:1 (fake device)");
    }
  }
  void without_a_device_the_variable_that_hides_them_is_named() {
    FakeDevice::instance().begin({.n_devices = 0});
    qputenv("CUDA_VISIBLE_DEVICES", "7");
    QVERIFY(open("fake") == nullptr);
    VERIFY_HAS(why_, "no CUDA device; CUDA_VISIBLE_DEVICES is \"7\"");
    CudaDevices list;
    lathe_cuda_devices("fake", list);
    qunsetenv("CUDA_VISIBLE_DEVICES");
    QVERIFY(list.devices.empty());
    QCOMPARE(list.why_not, why_);
  }
  void devices_are_listed_with_their_memory() {
    FakeDevice::instance().begin({.major = 9, .n_bytes = std::size_t{1} << 30, .n_devices = 2});
    QVERIFY(FakeDevice::instance().choose(1));
    void* const data = FakeDevice::instance().allocate(1000, FakeDevice::Memory::device);
    CudaDevices list;
    lathe_cuda_devices("fake", list);
    QVERIFY(FakeDevice::instance().free(data, false));
    QCOMPARE(list.devices.size(), std::size_t{2});
    QVERIFY(list.why_not.empty());
    const CudaDevice& device = list.devices[1];
    QCOMPARE(device.index, 1);
    QCOMPARE(device.name, std::string("fake device"));
    QCOMPARE(device.major, 9);
    QCOMPARE(device.total_bytes, std::int64_t{1} << 30);
    QCOMPARE(device.free_bytes.value_or(0), (std::int64_t{1} << 30) - 1000);
    QVERIFY(device.why_not.empty());
    QCOMPARE(list.devices[0].free_bytes.value_or(0), std::int64_t{1} << 30);
  }
  /// The management library knows free memory without the use of the device, but only of whole cards.
  void the_management_library_is_asked_for_free_memory() {
    FakeDevice::instance().begin({.n_bytes = kGib, .n_devices = 2});
    const auto free_of_second = [] { return cuda::list_devices(nullptr).devices[1].free_bytes.value_or(-1); };
    nvml_total = 0;
    QCOMPARE(free_of_second(), static_cast<std::int64_t>(kGib));
    nvml_total = kGib + (kGib >> 6);
    nvml_free = kGib / 2;
    QCOMPARE(free_of_second(), static_cast<std::int64_t>(kGib / 2 - 1));
    nvml_free = nvml_total;
    QCOMPARE(free_of_second(), static_cast<std::int64_t>(kGib));
    nvml_total = 2 * kGib;  // the device is a part of a card
    nvml_free = kGib / 2;
    QCOMPARE(free_of_second(), static_cast<std::int64_t>(kGib));
    QCOMPARE(n_begun, 1);  // the one that failed
  }
  void a_device_without_kernels_is_listed_with_the_reason() {
    FakeDevice::instance().begin({.major = 7, .minor = 5});
    CudaDevices list;
    lathe_cuda_devices("fake", list);
    QCOMPARE(list.devices.size(), std::size_t{1});
    VERIFY_HAS(list.devices[0].why_not, "has compute capability 7.5");
  }
  /// Each thread chooses the device that its call is for: memory, work and results are those of the second device, whatever
  /// device the thread has used before.
  void every_call_is_for_the_device_that_was_opened() {
    FakeDevice& device = FakeDevice::instance();
    device.begin({.n_bytes = std::size_t{1} << 30, .n_devices = 2});
    {
      const auto backend = open("fake", 1);
      QVERIFY2(backend != nullptr, why_.c_str());
      const std::int64_t before = backend->free_bytes().value_or(0);
      QCOMPARE(backend->total_bytes().value_or(0), std::int64_t{1} << 30);
      const auto on_another_thread = [&](const auto& body) { std::thread(body).join(); };
      Buffer x, on_device;
      on_another_thread([&] {
        x = backend->allocate(64);
        on_device = backend->allocate_on_device(128);
      });
      QCOMPARE(device.device_of(x.data()), 1);
      QCOMPARE(device.device_of(on_device.data()), 1);
      QCOMPARE(backend->free_bytes().value_or(0), before - 192);
      QVERIFY(device.choose(0));
      const TensorView rows(x.data(), Dtype::f32, {1, 16});
      on_another_thread([&] { backend->fill(rows, 2); });
      on_another_thread([&] { backend->finish(); });
      QVERIFY(!backend->take_error());
      QCOMPARE(rows.as<float>()[15], 2.0F);
      std::optional<TensorView> downloaded;
      on_another_thread([&] {
        downloaded = backend->download(rows, {});
        backend->finish();
      });
      QCOMPARE(downloaded->as<float>()[0], 2.0F);
      QVERIFY(device.choose(0));
      on_device = Buffer();
      QCOMPARE(backend->free_bytes().value_or(0), before - 64);
      QVERIFY(device.choose(0));
    }
    QVERIFY2(device.violations().empty(), device.violations_text().c_str());
    QCOMPARE(device.n_buffers(), std::size_t{0});
  }
  void an_older_device_is_refused() {
    FakeDevice::instance().begin({.major = 8, .minor = 6});
    QVERIFY(open("fake") == nullptr);
    VERIFY_HAS(why_, "fake device has compute capability 8.6, but the kernels need 9.0");
  }
  void a_device_that_cannot_be_used_is_refused() {
    FakeDevice::instance().begin({});
    FakeDevice::instance().lose_at(1);
    QVERIFY(!FakeDevice::instance().launch("work", [] {}));
    QVERIFY(open("fake") == nullptr);
    VERIFY_HAS(why_, "cannot be used");
    FakeDevice::instance().begin({});
  }
};

LATHE_TEST(EntryTest)

}  // namespace entry_test
#include "entry_test.moc"
