// SPDX-License-Identifier: Apache-2.0
// Results of cells: when a cell is done, and its checksums.
#include "app/api/sweep_report.h"

#include <QTest>
#include <cmath>

#include "tests/support/sweep_results.h"
#include "tests/support/test_class.h"

namespace sweep_report_test {

using namespace lathe;
using namespace lathe::app;
using tests::cell_with_rates;

class SweepReportTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_cell_ends_early_when_its_interval_is_narrow() {
    SweepPlan plan;
    plan.repeats = 10;
    QVERIFY(!cell_with_rates({100, 100, 100}).is_done(plan));
    plan.stop_at_ci = 0.05;
    QVERIFY(cell_with_rates({100, 100.5, 99.5}).is_done(plan));
    QVERIFY(!cell_with_rates({100, 100}).is_done(plan));
    QVERIFY(!cell_with_rates({100, 130, 70}).is_done(plan));
    plan.repeats = 2;
    QVERIFY(cell_with_rates({1, 100}).is_done(plan));
  }

  void a_search_ends_early_when_its_rate_is_certain() {
    SweepPlan plan;
    plan.repeats = 10;
    plan.stop_at_ci = 0.05;
    plan.workload.load = "saturation";
    const auto with_rates = [](std::vector<double> tok_s, const std::vector<double>& max_rates) {
      CellResult cell = cell_with_rates(std::move(tok_s));
      for (std::size_t i = 0; i < max_rates.size(); ++i) cell.samples[i][metric_index("max_rate")] = max_rates[i];
      return cell;
    };
    QVERIFY(!with_rates({100, 100.5, 99.5}, {4, 8, 6}).is_done(plan));
    QVERIFY(with_rates({100, 130, 70}, {4, 4.01, 3.99}).is_done(plan));
    // Another load of the same plan has none.
    const std::vector<double> none(3, std::nan(""));
    plan.variables = {{"load", {"concurrency", "saturation"}}};
    QVERIFY(with_rates({100, 100.5, 99.5}, none).is_done(plan));
    QVERIFY(!with_rates({100, 130, 70}, none).is_done(plan));
  }

  /// 2^53 - 1 and its neighbour are one number with fewer than 16 digits.
  void checksums_are_exact_and_tell_runs_apart() {
    const std::size_t answers = metric_index("answers");
    CellResult same = cell_with_rates({1, 1, 1}), other = cell_with_rates({1, 1, 1});
    for (std::vector<double>& sample : same.samples) sample[answers] = 9007199254740991;
    other.samples[0][answers] = 9007199254740990;
    other.samples[1][answers] = 7;
    QCOMPARE(same.checksums_of(answers), std::string("9007199254740991"));
    QCOMPARE(other.checksums_of(answers), std::string("9007199254740990 7 1"));
    QCOMPARE(CellResult().checksums_of(answers), std::string());
  }
};

LATHE_TEST(SweepReportTest)

}  // namespace sweep_report_test
#include "sweep_report_test.moc"
