// SPDX-License-Identifier: Apache-2.0
#include <QObject>
#include <QtTest>

#include <array>

#include "engine/base/histogram.h"
#include "tests/support/test_class.h"

namespace histogram_test {

using lathe::engine::Histogram;

namespace {
constexpr std::array kBounds{1.0, 2.0, 4.0};
using Counts = std::vector<std::uint64_t>;
}  // namespace

class HistogramTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void an_upper_bound_belongs_to_its_bucket();
  void what_is_above_all_bounds_is_counted_last();
  void sum_and_count_add_up();
  void no_values_have_quantile_zero();
  void quantiles_stay_between_the_extremes();
  void quantiles_are_linear_inside_a_bucket();
};

void HistogramTest::an_upper_bound_belongs_to_its_bucket() {
  Histogram histogram(kBounds);
  for (const double value : {0.5, 1.0, 1.001, 2.0, 4.0}) histogram.observe(value);
  QCOMPARE(histogram.snapshot().counts, (Counts{2, 2, 1, 0}));
}

void HistogramTest::what_is_above_all_bounds_is_counted_last() {
  Histogram histogram(kBounds);
  histogram.observe(1e9);
  QCOMPARE(histogram.snapshot().counts, (Counts{0, 0, 0, 1}));
  QCOMPARE(histogram.snapshot().bounds, (std::vector<double>{1, 2, 4}));
}

void HistogramTest::sum_and_count_add_up() {
  Histogram histogram(kBounds);
  histogram.observe(1.5);
  histogram.observe(2.5);
  QCOMPARE(histogram.sum(), 4.0);
  QCOMPARE(histogram.count(), 2U);
}

void HistogramTest::no_values_have_quantile_zero() { QCOMPARE(Histogram(kBounds).quantile(0.5), 0.0); }

void HistogramTest::quantiles_stay_between_the_extremes() {
  Histogram histogram(kBounds);
  histogram.observe(3.0);
  QCOMPARE(histogram.quantile(0.01), 3.0);
  QCOMPARE(histogram.quantile(0.99), 3.0);
  histogram.observe(100.0);
  QCOMPARE(histogram.quantile(1.0), 100.0);
}

void HistogramTest::quantiles_are_linear_inside_a_bucket() {
  Histogram histogram(kBounds);
  histogram.observe(1.0);
  for (int i = 0; i < 8; ++i) histogram.observe(2.0 + 0.25 * (i + 1));
  QCOMPARE(histogram.quantile(5.0 / 9), 3.0);
}

LATHE_TEST(HistogramTest)

}  // namespace histogram_test
#include "histogram_test.moc"
