// SPDX-License-Identifier: Apache-2.0
#include "engine/model/alibi.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace alibi_test {

using namespace lathe::engine;

class AlibiTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void eight_heads_halve_from_one_to_the_next() {
    QCOMPARE(alibi_slopes(8, 8),
             (std::vector<float>{0.5F, 0.25F, 0.125F, 1.F / 16, 1.F / 32, 1.F / 64, 1.F / 128, 1.F / 256}));
  }

  /// With 3 heads, two slopes are those of 2 heads, and the third is the first of 4 heads.
  void between_powers_of_two_comes_every_second_of_the_next() {
    QCOMPARE(alibi_slopes(3, 8), (std::vector<float>{1.F / 16, 1.F / 256, 0.25F}));
  }

  void the_largest_bias_bends_all() { QCOMPARE(alibi_slopes(2, 4), (std::vector<float>{0.25F, 1.F / 16})); }
};

LATHE_TEST(AlibiTest)

}  // namespace alibi_test
#include "alibi_test.moc"
