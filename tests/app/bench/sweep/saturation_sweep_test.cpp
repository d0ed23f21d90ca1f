// SPDX-License-Identifier: Apache-2.0
// Whole sweeps that search the highest rate of a tiny model: what is told, kept, gone on with, and left.
#include <QTemporaryDir>
#include <QTest>
#include <set>

#include "app/api/sweep_export.h"
#include "app/api/sweep_reproduction.h"
#include "app/bench/sweep/load/sweep.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace saturation_sweep_test {

using namespace lathe;
using namespace lathe::app;

namespace {

SweepPlan saturation_plan(std::vector<SweepVariable> variables = {}) {
  SweepPlan plan;
  plan.options.model = tests::tiny_model_path();
  plan.options.threads = 1;
  plan.workload = {.prompt_tokens = 8, .output_tokens = 4, .requests = 60, .load = "saturation"};
  plan.variables = std::move(variables);
  plan.repeats = 2;
  return plan;
}

SweepReport swept(const SweepPlan& plan, SweepJournal& journal, const SweepObserver& observer = {}) {
  auto report = run_sweep(plan, journal, engine::load_engine, observer);
  if (!report) qFatal("%s", report.error().message.c_str());
  return *report;
}

}  // namespace

class SaturationSweepTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(QLatin1String(name)).toStdString(); }

 private Q_SLOTS:
  void each_run_searches_and_keeps_its_trials() {
    const SweepPlan plan = saturation_plan({{"load", {"saturation", "concurrency"}}});
    auto journal = SweepJournal::open(path("journal"), plan, false);
    std::set<std::string> doings;
    const SweepReport report = swept(plan, *journal, [&](const SweepProgress& now, bool) {
      doings.insert(now.doing);
      return SweepDecision::go_on;
    });
    const std::size_t max_rate = metric_index("max_rate");
    const CellResult& cell = report.cells.at(0);
    QVERIFY2(cell.error.empty(), cell.error.c_str());
    QCOMPARE(cell.samples.size(), std::size_t{2});
    QCOMPARE(cell.trials.size(), std::size_t{2});
    for (std::size_t run = 0; run < 2; ++run) {
      double held = 0;
      for (const SweepTrial& trial : cell.trials[run])
        if (trial.failure.empty()) held = std::max(held, trial.rate);
      QVERIFY(held > 0);
      QCOMPARE(cell.samples[run][max_rate], held);
      QVERIFY(cell.samples[run][metric_index("output_tok_s")] > 0);
    }
    QVERIFY(doings.contains("trying one request at a time") && doings.contains("warming up"));
    QVERIFY(doings.contains(text_of_trial(cell.trials[0].back().rate)));
    QCOMPARE(report.cells.at(1).estimate_of(max_rate).n, std::size_t{0});
    QVERIFY(report.cells.at(1).trials.empty());

    QCOMPARE(std::string(main_metrics(plan).front()), std::string("max_rate"));
    const engine::OrderedJson json = to_json(plan, report);
    QCOMPARE(json["cells"][0]["trials"].size(), std::size_t{2});
    QCOMPARE(engine::dump_json(json["cells"][0]["trials"][1]), engine::dump_json(to_json(cell.trials[1])));
    QVERIFY(!json["cells"][1].contains("trials") && !json["cells"][1]["metrics"].contains("max_rate"));

    const auto kept = SweepJournal::cells_in(path("journal"), plan);
    QVERIFY2(kept.has_value(), kept ? "" : kept.error().message.c_str());
    QCOMPARE(engine::dump_json(to_json(plan, {.cells = *kept})["cells"]), engine::dump_json(json["cells"]));
  }

  /// Stopped in the third trial of the second run: the first stays as it is, the second is searched anew.
  void a_search_that_was_left_is_gone_on_with() {
    const SweepPlan plan = saturation_plan();
    {
      auto journal = SweepJournal::open(path("left"), plan, false);
      int n_trials = 0;
      const SweepReport report = swept(plan, *journal, [&](const SweepProgress& now, bool between_runs) {
        n_trials += now.repeat == 2 && between_runs ? 1 : 0;
        return n_trials < 3 ? SweepDecision::go_on : SweepDecision::stop;
      });
      QVERIFY(report.stopped);
      QCOMPARE(report.cells.at(0).samples.size(), std::size_t{1});
    }
    const std::string before = tests::read_file(path("left"));
    auto journal = SweepJournal::open(path("left"), plan, true);
    const SweepReport report = swept(plan, *journal);
    QCOMPARE(report.cells.at(0).trials.size(), std::size_t{2});
    QVERIFY(tests::read_file(path("left")).starts_with(before));
    std::string broken = before;
    broken.replace(broken.find("\"trials\":["), 10, "\"trials\":{");
    tests::write_file(path("broken"), broken);
    QVERIFY(!SweepJournal::cells_in(path("broken"), plan).has_value());
  }

  void a_cell_is_skipped_in_the_middle_of_its_search() {
    const SweepPlan plan = saturation_plan({{"prompt_tokens", {"8", "12"}}});
    auto journal = SweepJournal::open("", plan, false);
    const SweepReport report = swept(plan, *journal, [](const SweepProgress& now, bool between_runs) {
      const bool tries = now.doing.starts_with("trying") && now.doing != text_of_trial(0);
      return now.cell == 0 && tries && !between_runs ? SweepDecision::skip_cell : SweepDecision::go_on;
    });
    QCOMPARE(report.cells.at(0).error, std::string("skipped"));
    QVERIFY2(report.cells.at(1).error.empty(), report.cells.at(1).error.c_str());
  }

  void a_goal_that_nothing_holds_fails_its_cell_with_the_numbers() {
    SweepPlan plan = saturation_plan();
    plan.goal.ttft_ms = 1e-6;
    auto journal = SweepJournal::open("", plan, false);
    const std::string error = swept(plan, *journal).cells.at(0).error;
    QVERIFY2(error.starts_with("saturation: no rate holds: with one request at a time, 4 of 4 requests missed the goal"),
             error.c_str());
    QVERIFY2(error.find("ms at p99 of 1e-06") != std::string::npos, error.c_str());
  }

  void how_it_is_measured_again_names_the_load() {
    SweepPlan plan = saturation_plan({{"policy", {"paged", "static"}}});
    plan.workload.length_spread = 1.5;
    plan.workload.length_distribution = "lognormal";
    const std::string command = cell_command(plan, 1);
    for (const char* part : {" --load='saturation'", " --length-spread='1.5'", " --length-distribution='lognormal'"})
      QVERIFY2(command.find(part) != std::string::npos, command.c_str());
  }
};

LATHE_TEST(SaturationSweepTest)

}  // namespace saturation_sweep_test
#include "saturation_sweep_test.moc"
