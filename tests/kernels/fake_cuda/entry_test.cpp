// SPDX-License-Identifier: Apache-2.0
// The entry of the module of CUDA kernels, on the fake device: it opens a device that the kernels suit, or says why not.
#include <QTest>
#include <memory>
#include <string>

#include "kernels/loader/cuda_entry.h"
#include "tests/support/fake_cuda/fake_device.h"
#include "tests/support/verify_has.h"

extern "C" lathe::kernels::Backend* lathe_cuda_backend(const char* version, int n_threads, char* why, std::size_t n_why);

using namespace lathe::kernels;
using namespace lathe::tests;

class EntryTest : public QObject {
  Q_OBJECT

 private:
  std::string why_;
  std::unique_ptr<Backend> open(const char* version) {
    char why[200] = {};
    std::unique_ptr<Backend> backend(lathe_cuda_backend(version, 1, why, sizeof(why)));
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

QTEST_GUILESS_MAIN(EntryTest)
#include "entry_test.moc"
