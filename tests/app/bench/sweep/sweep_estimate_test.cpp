// SPDX-License-Identifier: Apache-2.0
// How long a sweep takes: before it starts, by an earlier one, and while it runs.
#include "app/api/sweep_estimate.h"

#include <QTest>
#include <cmath>

#include "app/bench/sweep/run_record.h"
#include "app/bench/sweep/sweep_pace.h"

using namespace lathe;
using namespace lathe::app;

namespace {

/// Two engines, each with two cells.
SweepPlan plan_of_four() {
  SweepPlan plan;
  plan.options.model = "somewhere";
  plan.workload = {.prompt_tokens = 8, .output_tokens = 50, .requests = 4};
  plan.variables = {{"quantization", {"none", "int8_g32"}}, {"concurrency", {"1", "2"}}};
  plan.repeats = 3;
  return plan;
}

/// One cell of 100 tok/s, whose engine took 2 s to load, and `quality_s` to be compared.
SweepReport report_of_one(double quality_s) {
  SweepReport report;
  std::vector<double>& sample = report.cells[0].samples.emplace_back(sweep_metrics().size(), kUnseen);
  sample[metric_index("output_tok_s")] = 100;
  sample[metric_index("load_s")] = 2;
  sample[metric_index("quality_s")] = quality_s;
  return report;
}

bool near(std::optional<double> a, double b) { return a && std::fabs(*a - b) < 1e-9; }

}  // namespace

class SweepEstimateTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cells_share_engines() {
    SweepPlan plan = plan_of_four();
    QCOMPARE(n_loads(plan), std::size_t{2});
    QCOMPARE(load_key(plan, 0), load_key(plan, 1));
    QVERIFY(load_key(plan, 1) != load_key(plan, 2));
    plan.variables.erase(plan.variables.begin());
    QCOMPARE(n_loads(plan), std::size_t{1});
  }

  /// 4 requests of 50 tokens at 100 tok/s: 2 s a run, 4 runs a cell with the warm-up; and two loads.
  void a_plan_takes_its_runs_and_its_loads() {
    SweepPlan plan = plan_of_four();
    QVERIFY(near(estimated_seconds(plan, report_of_one(kUnseen)), 4 * 4 * 2 + 2 * 2));
    plan.warm_up = false;
    QVERIFY(near(estimated_seconds(plan, report_of_one(kUnseen)), 4 * 3 * 2 + 2 * 2));
    plan.target.url = "http://there:1";  // loads nothing
    plan.variables.erase(plan.variables.begin());
    QVERIFY(near(estimated_seconds(plan, report_of_one(kUnseen)), 2 * 3 * 2));
  }

  void quality_is_measured_once_an_engine() {
    SweepPlan plan = plan_of_four();
    plan.quality_dataset = "stories.json";
    QVERIFY(near(estimated_seconds(plan, report_of_one(30)), 4 * 4 * 2 + 2 * (2 + 30)));
    // A sweep that measured speed alone says nothing of it.
    QVERIFY(!estimated_seconds(plan, report_of_one(kUnseen)).has_value());
    plan.quality_dataset.clear();
    QVERIFY(near(estimated_seconds(plan, report_of_one(30)), 4 * 4 * 2 + 2 * 2));
    QVERIFY(!estimated_seconds(plan, SweepReport{}).has_value());
  }

  void nobody_knows_how_long_a_search_takes() {
    SweepPlan plan = plan_of_four();
    plan.variables.pop_back();
    QVERIFY(estimated_seconds(plan, report_of_one(kUnseen)).has_value());
    plan.workload.load = "saturation";
    QVERIFY(!estimated_seconds(plan, report_of_one(kUnseen)).has_value());
    plan.workload.load = "poisson";
    plan.variables = {{"load", {"poisson", "saturation"}}};
    QVERIFY(!estimated_seconds(plan, report_of_one(kUnseen)).has_value());
  }

  /// Conversations of three turns compute three times as much, and think twice: one or two of them at a time.
  void turns_and_rates_take_their_time() {
    SweepPlan plan = plan_of_four();
    plan.variables.erase(plan.variables.begin());
    plan.workload.turns = 3;
    plan.workload.think_time = 5;
    QVERIFY(near(estimated_seconds(plan, report_of_one(kUnseen)), 4 * (6 + 4 * 2 * 5) + 4 * (6 + 2 * 2 * 5) + 2));
    plan.workload = {.output_tokens = 50, .requests = 4, .load = "constant", .rate = 0.5};
    plan.variables.clear();
    QVERIFY(near(estimated_seconds(plan, report_of_one(kUnseen)), 4 * 8 + 2));
  }

  /// The first cell of an engine has loading and quality with it: they do not count for each of its cells.
  void the_rest_of_a_sweep_is_engines_and_cells() {
    SweepPace pace;
    QCOMPARE(pace.left(3, 6), 0.0);
    pace.add_engine(40);
    QCOMPARE(pace.left(2, 6), 0.0);  // of a cell nothing is known
    pace.add_cell(2);
    pace.add_cell(4);
    QCOMPARE(pace.left(2, 4), 2 * 40 + 4 * 3.0);
    QCOMPARE(pace.left(0, 1), 3.0);
  }
};

QTEST_GUILESS_MAIN(SweepEstimateTest)
#include "sweep_estimate_test.moc"
