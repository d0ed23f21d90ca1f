// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/length_draw.h"

#include <QTest>
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/test_class.h"

namespace length_draw_test {

using namespace lathe::app;

class LengthDrawTest : public QObject {
  Q_OBJECT

  static std::vector<std::int64_t> lognormal_lengths(std::size_t n, std::int64_t mean, double variation) {
    std::mt19937_64 random(1);
    std::vector<std::int64_t> lengths(n);
    for (std::int64_t& length : lengths) length = lognormal_length(mean, variation, random);
    return lengths;
  }

 private Q_SLOTS:
  void lognormal_lengths_have_their_mean_and_variation() {
    constexpr std::size_t kDraws = 200'000;
    for (const double variation : {0.3, 1.0, 2.0}) {
      const std::vector<std::int64_t> lengths = lognormal_lengths(kDraws, 1000, variation);
      double sum = 0, squares = 0;
      for (const std::int64_t length : lengths) sum += static_cast<double>(length);
      const double mean = sum / kDraws;
      for (const std::int64_t length : lengths) squares += std::pow(static_cast<double>(length) - mean, 2);
      QVERIFY2(std::abs(mean - 1000) < 5 * 1000 * variation / std::sqrt(kDraws), qPrintable(QString::number(mean)));
      const double seen = std::sqrt(squares / kDraws) / mean;
      QVERIFY2(std::abs(seen - variation) < 0.06 * variation, qPrintable(QString::number(seen)));
    }
  }

  /// Most are short and a few very long: the median of lognormal lengths is mean / sqrt(1 + variation^2).
  void most_are_shorter_than_the_mean() {
    std::vector<std::int64_t> lengths = lognormal_lengths(100'001, 1000, 1);
    std::nth_element(lengths.begin(), lengths.begin() + 50'000, lengths.end());
    QVERIFY(std::abs(static_cast<double>(lengths[50'000]) - 1000 / std::sqrt(2.0)) < 15);
  }

  /// As another program computes them, out of the same Mersenne twister and the formula.
  void they_are_the_same_on_every_machine() {
    QCOMPARE(lognormal_lengths(8, 128, 1), (std::vector<std::int64_t>{121, 224, 175, 209, 44, 65, 117, 91}));
    QCOMPARE(lognormal_lengths(8, 1000, 0.4), (std::vector<std::int64_t>{1063, 1411, 1258, 1369, 667, 794, 1047, 929}));
  }

  void they_stay_between_one_and_the_longest() {
    QCOMPARE(lognormal_lengths(3, 77, 0), (std::vector<std::int64_t>{77, 77, 77}));
    const std::vector<std::int64_t> small = lognormal_lengths(1000, 1, 3), large = lognormal_lengths(1000, kLongestDraw, 10);
    QCOMPARE(*std::min_element(small.begin(), small.end()), std::int64_t{1});
    QVERIFY(*std::min_element(large.begin(), large.end()) >= 1);
    QCOMPARE(*std::max_element(large.begin(), large.end()), kLongestDraw);
  }

  void an_even_spread_has_two_ends() {
    std::mt19937_64 random(1);
    std::int64_t least = 1000, most = 0;
    for (int i = 0; i < 5000; ++i) {
      const std::int64_t length = uniform_length(100, 0.25, random);
      least = std::min(least, length);
      most = std::max(most, length);
    }
    QCOMPARE(least, std::int64_t{75});
    QCOMPARE(most, std::int64_t{125});
    for (int i = 0; i < 100; ++i) QVERIFY(uniform_length(2, 1, random) >= 1);
  }
};

LATHE_TEST(LengthDrawTest)

}  // namespace length_draw_test
#include "length_draw_test.moc"
