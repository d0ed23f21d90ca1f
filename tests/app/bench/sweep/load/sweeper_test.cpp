// SPDX-License-Identifier: Apache-2.0
// The sweeper of the workbench: pause, skip, stop and resume, and what it keeps.
#include "app/api/kept_sweeps.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace sweeper_test {

using namespace lathe;
using namespace lathe::app;
using engine::ErrorCode;

namespace {

constexpr int kPatienceMs = 60'000;

SweepPlan small_plan() {
  SweepPlan plan;
  plan.name = "Small";
  plan.options.model = tests::tiny_model_path();
  plan.options.threads = 1;
  plan.sampling.temperature = 0;
  plan.workload = {.prompt_tokens = 8, .output_tokens = 4, .requests = 2, .load = "concurrency", .concurrency = 1};
  plan.variables = {{"concurrency", {"1", "2"}}, {"block_size", {"8", "16"}}};
  plan.repeats = 2;
  return plan;
}

/// True if all numbers are equal; a missing one is NaN and equals NaN.
bool same(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
  const auto same_number = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_number);
  });
}

}  // namespace

class SweeperTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<Sweeper> sweeper_;

  bool reaches(SweepState state) const {
    return QTest::qWaitFor([&] { return sweeper_->status().state == state; }, kPatienceMs);
  }

 private Q_SLOTS:
  void init() {
    std::filesystem::remove_all(folder_.filePath("sweeps").toStdString());
    sweeper_ = make_sweeper(engine::load_engine, folder_.filePath("sweeps").toStdString());
  }

  void a_sweep_runs_to_its_end_and_is_kept() {
    QVERIFY(sweeper_->kept().empty());
    QVERIFY(sweeper_->start(small_plan()).has_value());
    QVERIFY(reaches(SweepState::done));
    const SweepStatus status = sweeper_->status();
    QCOMPARE(status.progress.cells_done, std::size_t{4});
    QCOMPARE(status.report->cells.size(), std::size_t{4});
    const std::vector<KeptSweep> kept = sweeper_->kept();
    QCOMPARE(kept.size(), std::size_t{1});
    QCOMPARE(kept[0].name, std::string("Small"));
    QCOMPARE(kept[0].cells_done, std::size_t{4});
    sweeper_->clear();
    QVERIFY(sweeper_->status().plan == nullptr);
    QVERIFY(sweeper_->open(kept[0].path).has_value());
    QCOMPARE(sweeper_->status().state, SweepState::done);
    QVERIFY(same(sweeper_->status().report->cells.at(3).samples, status.report->cells.at(3).samples));
  }

  void a_paused_sweep_waits_and_goes_on() {
    QVERIFY(sweeper_->start(small_plan()).has_value());
    sweeper_->pause();
    QVERIFY(reaches(SweepState::paused));
    const std::size_t done = sweeper_->status().progress.cells_done;
    QTest::qWait(100);
    QCOMPARE(sweeper_->status().state, SweepState::paused);
    QCOMPARE(sweeper_->status().progress.cells_done, done);
    sweeper_->go_on();
    QVERIFY(reaches(SweepState::done));
    for (const auto& [index, cell] : sweeper_->status().report->cells) QCOMPARE(cell.samples.size(), std::size_t{2});
  }

  void what_is_stopped_is_gone_on_with() {
    SweepPlan plan = small_plan();  // whose cells take milliseconds: all could be done before one is seen to be
    plan.workload.output_tokens = 200;
    plan.workload.requests = 10;
    QVERIFY(sweeper_->start(plan).has_value());
    QVERIFY(QTest::qWaitFor([&] { return sweeper_->status().progress.cells_done >= 1; }, kPatienceMs));
    sweeper_->pause();
    QVERIFY(QTest::qWaitFor([&] { return !(sweeper_->status().state == SweepState::pausing); }, kPatienceMs));
    sweeper_->stop();
    QVERIFY(reaches(SweepState::stopped));
    const SweepStatus stopped = sweeper_->status();
    QVERIFY(sweeper_->resume().has_value());
    QVERIFY(reaches(SweepState::done));
    const SweepStatus done = sweeper_->status();
    QCOMPARE(done.journal, stopped.journal);
    QCOMPARE(done.report->cells.size(), std::size_t{4});
    for (const auto& [index, cell] : stopped.report->cells) {
      const auto& now = done.report->cells.at(index);
      QCOMPARE(now.samples.size(), std::size_t{2});
      const auto n_before = static_cast<std::ptrdiff_t>(cell.samples.size());
      QVERIFY(same(cell.samples, {now.samples.begin(), now.samples.begin() + n_before}));
    }
  }

  void a_skipped_cell_is_recorded() {
    SweepPlan plan = small_plan();
    plan.workload.output_tokens = 200;
    QVERIFY(sweeper_->start(plan).has_value());
    sweeper_->pause();
    QVERIFY(reaches(SweepState::paused));
    sweeper_->skip_cell();
    QVERIFY(reaches(SweepState::done));
    int n_skipped = 0;
    for (const auto& [index, cell] : sweeper_->status().report->cells) n_skipped += cell.error == "skipped" ? 1 : 0;
    QCOMPARE(n_skipped, 1);
    QVERIFY(sweeper_->status().report->n_skipped() == 1 && sweeper_->status().report->n_failed() == 0);
    const auto facts = facts_of_sweep(sweeper_->status().journal);
    QVERIFY(facts && facts->cells_skipped == 1 && facts->cells_failed == 0 && facts->kept.cells_done == 4);
    QVERIFY(sweeper_->open(sweeper_->status().journal).has_value());
    QCOMPARE(sweeper_->status().report->cells.size(), std::size_t{4});
  }

  void a_second_sweep_is_refused_while_one_runs() {
    QVERIFY(sweeper_->start(small_plan()).has_value());
    sweeper_->pause();
    QVERIFY(reaches(SweepState::paused));
    QCOMPARE(sweeper_->start(small_plan()).error().code, ErrorCode::conflict);
    QCOMPARE(sweeper_->resume().error().code, ErrorCode::conflict);
    sweeper_->clear();
    QVERIFY(sweeper_->status().plan != nullptr);
  }

  void a_plan_that_cannot_be_is_refused_at_once() {
    SweepPlan plan = small_plan();
    plan.variables = {{"no_such_thing", {"1"}}};
    QCOMPARE(sweeper_->start(plan).error().code, ErrorCode::invalid_argument);
    QVERIFY(sweeper_->status().plan == nullptr);
    QVERIFY(!std::filesystem::exists(folder_.filePath("sweeps").toStdString()));
  }

  void a_file_that_is_no_journal_is_refused() {
    const std::string path = folder_.filePath("other").toStdString();
    tests::write_file(path, "{\"a\": 1}\n");
    QCOMPARE(sweeper_->open(path).error().code, ErrorCode::invalid_argument);
    QCOMPARE(sweeper_->open(path + "x").error().code, ErrorCode::not_found);
  }
};

LATHE_TEST(SweeperTest)

}  // namespace sweeper_test
#include "sweeper_test.moc"
