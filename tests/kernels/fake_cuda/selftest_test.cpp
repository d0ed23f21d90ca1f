// SPDX-License-Identifier: Apache-2.0
// The self-test on the CUDA backend, whose kernels are those of the fake device: each operation is as the reference has it.
// Other forms of device: backend_test and tests/engine/fake_cuda.
#include <QTest>

#include "kernels/api/selftest.h"
#include "kernels/cuda/cuda_backend.h"
#include "tests/support/fake_cuda/fake_device.h"
#include "tests/support/test_class.h"

namespace selftest_test {

using namespace lathe::kernels;
using namespace lathe::tests;

class SelftestTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_operation_is_as_the_reference_has_it() {
    FakeDevice& device = FakeDevice::instance();
    device.begin({.major = 9});
    {
      cuda::CudaBackend backend(1);
      for (const OpCheck& check : run_selftest(backend, {}, [](const OpCheck&) {}))
        QVERIFY2(check.passed(), (check.op + ": " + std::to_string(check.max_error)).c_str());
    }
    QVERIFY2(device.violations().empty(), device.violations_text().c_str());
    QCOMPARE(device.n_buffers(), std::size_t{0});
    const auto& launches = device.launches();
    for (const char* name : {"multiply_few", "multiply_gated", "multiply_plain", "multiply_many", "sum_units", "attend_few",
                             "attend_wide", "attention", "finish_qkv"})
      QVERIFY2(launches.contains(name), name);
  }
};

LATHE_TEST(SelftestTest)

}  // namespace selftest_test
#include "selftest_test.moc"
