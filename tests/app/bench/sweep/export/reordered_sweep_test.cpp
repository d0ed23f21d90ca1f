// SPDX-License-Identifier: Apache-2.0
// A sweep with its variables in another order.
#include "app/bench/sweep/export/reordered_sweep.h"

#include <QTest>
#include <algorithm>

#include "tests/support/test_class.h"

namespace reordered_sweep_test {

using namespace lathe;
using namespace lathe::app;

namespace {

SweepPlan plan_of_three() {
  SweepPlan plan;
  plan.variables = {{"concurrency", {"1", "4"}}, {"policy", {"paged", "static", "dynamic"}}, {"block_size", {"8", "16"}}};
  return plan;
}

}  // namespace

class ReorderedSweepTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_reordered_sweep_says_the_same() {
    const SweepPlan plan = plan_of_three();
    SweepReport report;
    for (std::size_t cell = 0; cell < 11; ++cell)
      report.cells[cell].error = std::to_string(cell);  // the last is not measured
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const ReorderedSweep sweep = reordered(plan, report, axis);
      QCOMPARE(sweep.plan.variables.back().name, plan.variables[axis].name);
      QCOMPARE(sweep.report.cells.size(), report.cells.size());
      for (const auto& [index, cell] : sweep.report.cells) {
        auto before = values_of(plan, std::stoul(cell.error)), after = values_of(sweep.plan, index);
        std::sort(before.begin(), before.end());
        std::sort(after.begin(), after.end());
        QCOMPARE(after, before);
      }
    }
  }

  void without_such_a_variable_nothing_changes() {
    SweepReport report;
    report.cells[5].error = "5";
    const ReorderedSweep sweep = reordered(plan_of_three(), report, 3);
    QCOMPARE(sweep.plan.variables.front().name, std::string("concurrency"));
    QVERIFY(sweep.report.cells.size() == 1 && sweep.report.cells.contains(5));
  }
};

LATHE_TEST(ReorderedSweepTest)

}  // namespace reordered_sweep_test
#include "reordered_sweep_test.moc"
