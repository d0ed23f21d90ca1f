// SPDX-License-Identifier: Apache-2.0
#include "engine/base/checked_math.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace checked_math_test {

using lathe::engine::checked_product;

class CheckedMathTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void products_that_fit_are_exact() {
    QCOMPARE(*checked_product({}), 1);
    QCOMPARE(*checked_product({3, 5, 7}), 105);
    QCOMPARE(*checked_product({1LL << 31, 1LL << 31}), 1LL << 62);
  }
  void products_that_wrap_are_nothing() {
    QVERIFY(!checked_product({1LL << 32, 1LL << 32}));
    QVERIFY(!checked_product({1LL << 32, 1LL << 31, 2}));
  }
  void zero_swallows_any_factor() {
    QCOMPARE(*checked_product({1LL << 62, 1LL << 62, 0}), 0);
    QCOMPARE(*checked_product({0, 1LL << 62, 1LL << 62}), 0);
  }
};

LATHE_TEST(CheckedMathTest)

}  // namespace checked_math_test
#include "checked_math_test.moc"
