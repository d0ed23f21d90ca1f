// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>
#include <limits>

#include "tests/support/test_class.h"
#include "ui/models/series_history.h"

namespace series_history_test {

using lathe::ui::SeriesHistory;
using lathe::ui::Span;

class SeriesHistoryTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void starts_empty() { QVERIFY(SeriesHistory(2).empty()); }

  void a_bucket_holds_the_mean() {
    SeriesHistory history(1);
    history.append(0.00, {1});
    history.append(0.04, {3});
    QCOMPARE(history.samples(Span::half_minute).size(), std::size_t{1});
    QCOMPARE(history.samples(Span::half_minute)[0].values[0], 2.0);
  }

  void a_new_bucket_opens_after_its_time() {
    SeriesHistory history(1);
    history.append(0.0, {1});
    history.append(0.2, {5});
    QCOMPARE(history.samples(Span::half_minute).size(), std::size_t{2});
    QCOMPARE(history.samples(Span::five_minutes).size(), std::size_t{1});
    QCOMPARE(history.samples(Span::five_minutes)[0].values[0], 3.0);
  }

  void missing_values_do_not_count() {
    SeriesHistory history(2);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    history.append(0.00, {nan, 4});
    history.append(0.01, {nan, 6});
    QVERIFY(std::isnan(history.samples(Span::half_minute)[0].values[0]));
    QCOMPARE(history.samples(Span::half_minute)[0].values[1], 5.0);
  }

  void a_missing_value_before_a_real_one_is_replaced() {
    SeriesHistory history(1);
    history.append(0.00, {std::numeric_limits<double>::quiet_NaN()});
    history.append(0.01, {8});
    QCOMPARE(history.samples(Span::half_minute)[0].values[0], 8.0);
  }

  void old_samples_leave() {
    SeriesHistory history(1);
    for (int i = 0; i < 3000; ++i) history.append(i, {double(i)});
    QCOMPARE(history.samples(Span::half_minute).size(), std::size_t{720});
    QCOMPARE(history.samples(Span::half_minute).back().values[0], 2999.0);
    QCOMPARE(history.samples(Span::hour).size(), std::size_t{600});
  }
};

LATHE_TEST(SeriesHistoryTest)

}  // namespace series_history_test
#include "series_history_test.moc"
