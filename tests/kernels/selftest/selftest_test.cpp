// SPDX-License-Identifier: Apache-2.0
#include "kernels/api/selftest.h"

#include <cmath>
#include <limits>

#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace selftest_test {

using namespace lathe::kernels;
using namespace lathe::tests;

class SelfTestTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_isa_passes_data() { add_isa_rows(); }
  void every_isa_passes() {
    const auto backend = backend_of_row();
    std::size_t n_reported = 0;
    const auto checks = run_selftest(*backend, {}, [&](const OpCheck&) { ++n_reported; });
    QVERIFY(checks.size() > 40);
    QCOMPARE(n_reported, checks.size());
    for (const OpCheck& check : checks) {
      QVERIFY2(check.passed(), check.op.c_str());
      QVERIFY2(check.seconds > 0, check.op.c_str());
    }
  }

  void ceilings_are_positive() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    const Ceilings ceilings = measure_ceilings(*backend);
    QVERIFY(ceilings.read_gb_s > 0);
    QVERIFY(ceilings.fma_gflop_s > 0);
    QCOMPARE(ceilings.bf16_gflop_s > 0, rounds_to_bf16(backend->info().isa));
  }

  void a_wrong_result_does_not_pass() {
    const OpCheck check{.op = "x", .max_error = 1e-3, .tolerance = 1e-5, .bound = {}};
    QVERIFY(!check.passed());
    const OpCheck infinite{.op = "x", .max_error = std::numeric_limits<double>::infinity(), .tolerance = 1e-5, .bound = {}};
    QVERIFY(!infinite.passed());
  }

  void relative_error_is_of_the_largest_magnitude() {
    const RandomTensor want({1, 3});
    const RandomTensor got({1, 3});
    want.view().as<float>()[0] = -8;
    got.view().as<float>()[0] = -8;
    got.view().as<float>()[2] = 2;
    QCOMPARE(relative_error(got.view(), want.view()), 0.25);
    QCOMPARE(relative_error(want.view(), want.view()), 0.0);
  }

  void relative_error_sees_nan_and_infinity() {
    const RandomTensor want({1, 2});
    const RandomTensor got({1, 2});
    want.view().as<float>()[0] = 1;
    got.view().as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    QVERIFY(std::isinf(relative_error(got.view(), want.view())));
    want.view().as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    QCOMPARE(relative_error(got.view(), want.view()), 0.0);
    got.view().as<float>()[0] = 1;
    QVERIFY(relative_error(got.view(), want.view()) > 0);
  }

  void random_numbers_repeat_for_a_seed() {
    RandomNumbers a(5);
    RandomNumbers b(5);
    for (int i = 0; i < 100; ++i) {
      const float value = a.next();
      QCOMPARE(value, b.next());
      QVERIFY(value >= -1 && value < 1);
    }
  }
};

LATHE_TEST(SelfTestTest)

}  // namespace selftest_test
#include "selftest_test.moc"
