// SPDX-License-Identifier: Apache-2.0
// How long a sweep takes: before it starts, by an earlier one, and while it runs.
#include "app/api/sweep_estimate.h"

#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "app/bench/sweep/load/sweep_pace.h"
#include "app/bench/sweep/result/run_record.h"
#include "app/bench/sweep/result/sweep_journal.h"
#include "tests/support/test_class.h"

namespace sweep_estimate_test {

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

void add_cell(SweepReport& report, std::size_t cell, double tok_s, double load_s, double quality_s = kUnseen) {
  std::vector<double>& sample = report.cells[cell].samples.emplace_back(sweep_metrics().size(), kUnseen);
  sample[metric_index("output_tok_s")] = tok_s;
  sample[metric_index("load_s")] = load_s;
  sample[metric_index("quality_s")] = quality_s;
}

/// Cells of 100 tok/s of all formats of that plan, whose engines took 2 s to load, and `quality_s` to be compared.
std::vector<KnownRate> rates_of(const SweepPlan& plan, double quality_s = kUnseen) {
  SweepReport report;
  for (std::size_t cell = 0; cell < n_cells(plan); ++cell) add_cell(report, cell, 100, 2, quality_s);
  return known_rates(plan, report);
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
    QVERIFY(near(estimated_seconds(plan, rates_of(plan)), 4 * 4 * 2 + 2 * 2));
    plan.warm_up = false;
    QVERIFY(near(estimated_seconds(plan, rates_of(plan)), 4 * 3 * 2 + 2 * 2));
    plan.workload.max_seconds = 1;
    QVERIFY(near(estimated_seconds(plan, rates_of(plan)), 4 * 3 * 1 + 2 * 2));
    plan.workload.max_seconds = 0;
    plan.target.url = "http://there:1";  // loads nothing
    plan.variables.erase(plan.variables.begin());
    QVERIFY(near(estimated_seconds(plan, rates_of(plan)), 2 * 3 * 2));
  }

  void quality_is_measured_once_an_engine() {
    SweepPlan plan = plan_of_four();
    plan.quality_dataset = "stories.json";
    QVERIFY(near(estimated_seconds(plan, rates_of(plan, 30)), 4 * 4 * 2 + 2 * (2 + 30)));
    SweepPlan other = plan;
    other.quality_dataset = "news.json";  // which may be longer
    QVERIFY(!estimated_seconds(other, rates_of(plan, 30)).has_value());
    // A sweep that measured speed alone says nothing of it.
    QVERIFY(!estimated_seconds(plan, rates_of(plan)).has_value());
    other.quality_dataset.clear();
    QVERIFY(near(estimated_seconds(other, rates_of(plan, 30)), 4 * 4 * 2 + 2 * 2));
    QVERIFY(!estimated_seconds(plan, {}).has_value());
  }

  void nobody_knows_how_long_a_search_takes() {
    SweepPlan plan = plan_of_four();
    plan.variables.pop_back();
    const std::vector<KnownRate> rates = rates_of(plan);
    QVERIFY(estimated_seconds(plan, rates).has_value());
    plan.workload.load = "saturation";
    QVERIFY(!estimated_seconds(plan, rates).has_value());
    plan.workload.load = "poisson";
    plan.variables = {{"load", {"poisson", "concurrency"}}};
    QVERIFY(estimated_seconds(plan, rates).has_value());
    plan.variables = {{"load", {"poisson", "saturation"}}};
    QVERIFY(!estimated_seconds(plan, rates).has_value());
  }

  /// Conversations of three turns compute three times as much, and think twice: one or two of them at a time.
  void turns_and_rates_take_their_time() {
    SweepPlan plan = plan_of_four();
    plan.variables.erase(plan.variables.begin());
    plan.workload.turns = 3;
    plan.workload.think_time = 5;
    QVERIFY(near(estimated_seconds(plan, rates_of(plan)), 4 * (6 + 4 * 2 * 5) + 4 * (6 + 2 * 2 * 5) + 2));
    plan.workload = {.output_tokens = 50, .requests = 4, .load = "constant", .rate = 0.5};
    plan.variables.clear();
    QVERIFY(near(estimated_seconds(plan, rates_of(plan)), 4 * 8 + 2));
    plan.workload.load = "replay";
    QVERIFY(!estimated_seconds(plan, rates_of(plan)).has_value());
  }

  void cells_go_at_the_rate_of_what_is_most_like_them() {
    SweepPlan measured = plan_of_four();
    measured.variables = {{"concurrency", {"1", "16"}}};
    measured.workload.requests = 16;
    SweepReport report;
    add_cell(report, 0, 100, 2);
    add_cell(report, 1, 400, 2);
    const std::vector<KnownRate> rates = known_rates(measured, report);
    SweepPlan plan = measured;
    plan.warm_up = false;
    plan.repeats = 1;
    plan.variables = {{"concurrency", {"1", "2", "8"}}};
    QVERIFY(near(estimated_seconds(plan, rates), 16 * 50 / 100.0 * 2 + 16 * 50 / 400.0 + 2));
    // Cells that are done take no time.
    SweepReport done;
    add_cell(done, 0, 100, 2);
    QVERIFY(near(estimated_seconds(plan, rates, &done), 16 * 50 / 100.0 + 16 * 50 / 400.0 + 2));
  }

  /// Another model, another format, another number of threads, another server: nobody knows.
  void rates_of_something_else_say_nothing() {
    SweepPlan measured = plan_of_four();
    measured.variables.erase(measured.variables.begin());
    const std::vector<KnownRate> rates = rates_of(measured);
    SweepPlan plan = measured;
    plan.options.model = "elsewhere";
    QVERIFY(!estimated_seconds(plan, rates).has_value());
    plan = measured;
    plan.options.threads = 1;
    QVERIFY(!estimated_seconds(plan, rates).has_value());
    QVERIFY(!estimated_seconds(plan_of_four(), rates).has_value());  // of int8_g32 nothing is known
    plan = measured;
    plan.target.url = "http://there:1";
    QVERIFY(!estimated_seconds(plan, rates).has_value());
    SweepReport failed;
    failed.cells[0].error = "no room";
    failed.cells[1].error = "skipped";
    QVERIFY(known_rates(measured, failed).empty());
  }

  void kept_sweeps_tell_their_rates() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("kept.jsonl").toStdString();
    const SweepPlan plan = plan_of_four();
    {
      auto journal = SweepJournal::open(path, plan, false);
      QVERIFY(journal.has_value());
      SweepReport report;
      add_cell(report, 0, 100, 2);
      for (std::size_t cell = 0; cell < 4; ++cell)
        QVERIFY(journal->add_sample(cell, report.cells[0].samples[0]).has_value());
    }
    const std::vector<KnownRate> rates =
        known_rates({{.path = folder.filePath("gone.jsonl").toStdString(), .name = {}}, {.path = path, .name = {}}});
    QCOMPARE(rates.size(), std::size_t{4});
    QVERIFY(near(estimated_seconds(plan, rates), 4 * 4 * 2 + 2 * 2));
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

LATHE_TEST(SweepEstimateTest)

}  // namespace sweep_estimate_test
#include "sweep_estimate_test.moc"
