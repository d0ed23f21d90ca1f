// SPDX-License-Identifier: Apache-2.0
// Tests of the basis of every comparison with the reference: the same numbers everywhere, and an error measure that hides
// nothing.
#include "kernels/selftest/random_tensor.h"

#include <QTest>
#include <cmath>
#include <limits>
#include <set>

#include "kernels/formats/element.h"
#include "tests/support/test_class.h"

namespace random_tensor_test {

using namespace lathe::kernels;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A row of three.
RandomTensor row(float a, float b, float c) {
  const RandomTensor tensor({1, 3});
  float* values = tensor.view().row<float>(0);
  values[0] = a;
  values[1] = b;
  values[2] = c;
  return tensor;
}

double error(const RandomTensor& got, const RandomTensor& want) { return relative_error(got.view(), want.view()); }

}  // namespace

class RandomTensorTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_seed_gives_the_same_numbers() {
    RandomNumbers a(7), b(7), c(8);
    QCOMPARE(a.next_bits(), b.next_bits());
    QVERIFY(a.next_bits() != c.next_bits());
  }

  void the_generator_is_splitmix64() {
    RandomNumbers numbers(1234567);  // the first outputs of the published generator for this seed
    QCOMPARE(numbers.next_bits(), std::uint64_t{6457827717110365317U});
    QCOMPARE(numbers.next_bits(), std::uint64_t{3203168211198807973U});
  }

  void numbers_fill_their_range() {
    RandomNumbers numbers(1);
    double sum = 0;
    float lowest = 1, highest = -1;
    for (int i = 0; i < 10'000; ++i) {
      const float value = numbers.next();
      QVERIFY(value >= -1 && value < 1);
      lowest = std::min(lowest, value);
      highest = std::max(highest, value);
      sum += value;
    }
    QVERIFY(lowest < -0.99F && highest > 0.99F);
    QVERIFY(std::abs(sum / 10'000) < 0.03);
  }

  void below_reaches_every_number() {
    RandomNumbers numbers(2);
    std::set<std::int32_t> seen;
    for (int i = 0; i < 500; ++i) seen.insert(numbers.below(7));
    QCOMPARE(seen.size(), std::size_t{7});
    QCOMPARE(*seen.begin(), 0);
    QCOMPARE(*seen.rbegin(), 6);
  }

  void the_scale_bounds_every_type() {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      RandomNumbers numbers(3);
      const RandomTensor tensor(dtype, {4, 33}, numbers, 0.25F);
      for (std::int64_t i = 0; i < tensor.view().n_elements(); ++i) {
        QVERIFY(std::abs(load_element(tensor.view().data, dtype, i)) <= 0.25F);
      }
    }
  }

  void a_copy_has_memory_of_its_own() {
    const RandomTensor first = row(1, 2, 3);
    const RandomTensor second = first.copy();
    second.view().row<float>(0)[1] = 9;
    QCOMPARE(first.view().row<float>(0)[1], 2.0F);
    QCOMPARE(second.view().row<float>(0)[2], 3.0F);
  }

  void equal_tensors_have_no_error() { QCOMPARE(error(row(1, -2, 3), row(1, -2, 3)), 0.0); }

  void the_error_is_relative_to_the_largest() { QCOMPARE(error(row(1, 2, 8.5F), row(1, 2, 8)), 0.5 / 8); }

  void a_nan_that_is_expected_is_no_error() { QCOMPARE(error(row(1, kNan, 3), row(1, kNan, 3)), 0.0); }

  void a_nan_that_is_not_expected_is_infinite() {
    QVERIFY(std::isinf(error(row(1, kNan, 3), row(1, 2, 3))));
    QVERIFY(std::isinf(error(row(1, 2, 3), row(1, kNan, 3))));
  }

  void infinities_must_agree_in_sign() {
    QCOMPARE(error(row(kInfinity, 1, 1), row(kInfinity, 1, 1)), 0.0);
    QVERIFY(std::isinf(error(row(-kInfinity, 1, 1), row(kInfinity, 1, 1))));
    QVERIFY(std::isinf(error(row(5, 1, 1), row(kInfinity, 1, 1))));
  }

  void anything_beside_zeros_is_infinite() {
    QCOMPARE(error(row(0, 0, 0), row(0, 0, 0)), 0.0);
    QVERIFY(std::isinf(error(row(0, 1e-9F, 0), row(0, 0, 0))));
  }
};

LATHE_TEST(RandomTensorTest)

}  // namespace random_tensor_test
#include "random_tensor_test.moc"
