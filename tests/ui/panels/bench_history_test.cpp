// SPDX-License-Identifier: GPL-3.0-or-later
// The Bench page's parts History and Compare runs: kept sweeps are listed, opened, renamed, deleted and compared.
#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QTableView>
#include <filesystem>

#include "app/bench/sweep/result/sweep_journal.h"
#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/panels/bench/history/compare_table.h"
#include "ui/panels/bench/history/history_view.h"

namespace bench_history_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

namespace fs = std::filesystem;

app::SweepPlan plan_of(const std::string& name, std::vector<std::string> concurrency) {
  app::SweepPlan plan;
  plan.name = name;
  plan.options.model = "/models/small";
  plan.variables = {{"concurrency", std::move(concurrency)}};
  plan.repeats = 3;
  return plan;
}

/// Rates of 100 and so on for each cell in turn, times `factor`, with a spread of one; the last cell may be missing.
std::string write_journal(const QString& profile, const std::string& file, const app::SweepPlan& plan, double factor,
                          std::size_t n_cells) {
  const fs::path folder = fs::path(profile.toStdString()) / "data" / "sweeps";
  fs::create_directories(folder);
  const std::string path = (folder / file).string();
  auto journal = app::SweepJournal::open(path, plan, false);
  if (!journal) qFatal("%s", journal.error().message.c_str());
  for (std::size_t cell = 0; cell < n_cells; ++cell) {
    for (const double offset : {-1.0, 0.0, 1.0}) {
      std::vector<double> values(app::sweep_metrics().size(), 2.0);
      values[app::metric_index("output_tok_s")] = 100.0 * double(cell + 1) * factor + offset;
      if (!journal->add_sample(cell, values)) qFatal("the journal cannot be written");
    }
  }
  return path;
}

void set_age(const std::string& path, int hours) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

}  // namespace

class BenchHistoryTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    profile_ = std::make_unique<QTemporaryDir>();
    older_ = write_journal(profile_->path(), "older.jsonl", plan_of("Before", {"1", "2", "4"}), 1, 3);
    newer_ = write_journal(profile_->path(), "newer.jsonl", plan_of("After", {"1", "4", "8"}), 2, 2);
    set_age(older_, 48);
    set_age(newer_, 24);
  }
  void cleanup() { fixture_.reset(); }

  void without_sweeps_both_parts_say_what_to_do();
  void kept_sweeps_are_listed_the_newest_first();
  void a_sweep_is_opened_in_the_first_part();
  void a_journal_that_lies_elsewhere_is_opened_too();
  void a_sweep_gets_another_name();
  void a_sweep_is_deleted_after_a_question();
  void two_sweeps_are_compared_cell_by_cell();
  void metrics_are_chosen_and_sides_swapped();
  void what_cannot_be_compared_is_told();
  void the_tables_are_models();

 private:
  void open_window(const QString& profile) {
    fixture_ = std::make_unique<WindowFixture>(FakeLoad{}, profile);
    fixture_->window->context().load.choose("/nowhere/fake-model");
    fixture_->trigger("layout.benchmark");
  }
  void open_history() {
    open_window(profile_->path());
    fixture_->click("bench.tabs.1");
    QTRY_COMPARE(history()->rowCount(), 2);
  }
  void open_comparison() {
    open_history();
    fixture_->find<QTableView>("bench.history.table")->selectAll();
    fixture_->click("bench.history.compare");
    QTRY_VERIFY(compared()->rowCount() > 0);
  }
  QAbstractItemModel* history() { return fixture_->find<QTableView>("bench.history.table")->model(); }
  QAbstractItemModel* compared() { return fixture_->find<QTableView>("bench.compare.table")->model(); }
  QString text(const QAbstractItemModel* model, int row, int column) { return model->index(row, column).data().toString(); }
  QString label(const char* name) { return fixture_->find<QLabel>(name)->text(); }
  void select(int row) { fixture_->find<QTableView>("bench.history.table")->selectRow(row); }

  std::unique_ptr<QTemporaryDir> profile_;
  std::unique_ptr<WindowFixture> fixture_;
  std::string older_, newer_;
};

void BenchHistoryTest::without_sweeps_both_parts_say_what_to_do() {
  open_window({});
  fixture_->click("bench.tabs.1");
  QVERIFY(fixture_->find<QLabel>("bench.history.empty")->isVisible());
  QVERIFY(!fixture_->find<QPushButton>("bench.history.remove")->isEnabled());
  fixture_->click("bench.tabs.2");
  QVERIFY(fixture_->find<QLabel>("bench.compare.empty")->isVisible());
  QVERIFY(label("bench.compare.empty").startsWith("Two kept sweeps are needed"));
}

void BenchHistoryTest::kept_sweeps_are_listed_the_newest_first() {
  open_history();
  QCOMPARE(text(history(), 0, ui::HistoryTable::name), QString("After"));
  QCOMPARE(text(history(), 0, ui::HistoryTable::cells), QString("2 of 3"));
  QCOMPARE(text(history(), 0, ui::HistoryTable::state), QString("Unfinished"));
  QCOMPARE(text(history(), 0, ui::HistoryTable::subject), QString("small"));
  QCOMPARE(text(history(), 0, ui::HistoryTable::variables), QString("Concurrency"));
  QCOMPARE(text(history(), 1, ui::HistoryTable::state), QString("Done"));
  QVERIFY(text(history(), 1, ui::HistoryTable::size).endsWith("B"));
  QCOMPARE(label("bench.history.count"), QString("2"));
  fixture_->find<QTableView>("bench.history.table")->sortByColumn(ui::HistoryTable::size, Qt::DescendingOrder);
  QCOMPARE(text(history(), 0, ui::HistoryTable::name), QString("Before"));  // it has more cells
}

void BenchHistoryTest::a_sweep_is_opened_in_the_first_part() {
  open_history();
  select(1);
  fixture_->click("bench.history.open");
  QCOMPARE(fixture_->workbench->sweeper().status().state, app::SweepState::done);
  QVERIFY(fixture_->find<QTableView>("bench.table")->isVisible());
  QCOMPARE(fixture_->find<QPushButton>("bench.title")->text(), QString("Before"));
  fixture_->click("bench.tabs.1");
  QVERIFY(!fixture_->find<QTableView>("bench.table")->isVisible());
}

void BenchHistoryTest::a_journal_that_lies_elsewhere_is_opened_too() {
  open_history();
  QTemporaryDir elsewhere;
  const std::string path = write_journal(elsewhere.path(), "foreign.jsonl", plan_of("Foreign", {"1"}), 1, 1);
  auto* view = fixture_->find<ui::HistoryView>("bench.history");
  Q_EMIT view->open_wanted(QString::fromStdString(path));
  QVERIFY(fixture_->find<QTableView>("bench.table")->isVisible());
  QCOMPARE(fixture_->find<QPushButton>("bench.title")->text(), QString("Foreign"));
  Q_EMIT view->open_wanted(elsewhere.filePath("nothing.jsonl"));
  const auto* message = fixture_->find<ui::InlineMessage>("bench.message");
  QVERIFY(message->isVisible());
  QCOMPARE(message->what(), QString("The sweep was not opened"));
  QVERIFY2(message->numbers().contains("nothing.jsonl"), qPrintable(message->numbers()));
}

void BenchHistoryTest::a_sweep_gets_another_name() {
  open_history();
  select(1);
  fixture_->click("bench.history.open");
  fixture_->click("bench.tabs.1");
  QVERIFY(history()->setData(history()->index(1, ui::HistoryTable::name), " Baseline of May ", Qt::EditRole));
  QTRY_COMPARE(text(history(), 1, ui::HistoryTable::name), QString("Baseline of May"));
  QCOMPARE(app::read_sweep(older_)->plan.name, std::string("Baseline of May"));
  // The one that is shown can still be gone on with.
  QCOMPARE(fixture_->workbench->sweeper().status().plan->name, std::string("Baseline of May"));
  QVERIFY(!history()->setData(history()->index(1, ui::HistoryTable::name), "  ", Qt::EditRole));
}

void BenchHistoryTest::a_sweep_is_deleted_after_a_question() {
  open_history();
  select(1);
  auto* question = fixture_->find<ui::InlineMessage>("bench.history.message");
  fixture_->click("bench.history.remove");
  QVERIFY(question->isVisible());
  QVERIFY2(question->what().contains("Before"), qPrintable(question->what()));
  QVERIFY2(question->numbers().contains("3 of 3 cells"), qPrintable(question->numbers()));
  fixture_->click("bench.history.message.no");
  QVERIFY(!question->isVisible());
  QVERIFY(fs::exists(older_));
  fixture_->click("bench.history.remove");
  fixture_->click("bench.history.message.yes");
  QVERIFY(!fs::exists(older_));
  QTRY_COMPARE(history()->rowCount(), 1);
  QCOMPARE(text(history(), 0, ui::HistoryTable::name), QString("After"));
}

/// In common are 1 (100 and 200 tok/s) and 4 (300 and 400); 8 was not reached.
void BenchHistoryTest::two_sweeps_are_compared_cell_by_cell() {
  open_comparison();
  QCOMPARE(compared()->rowCount(), 2 * 3);
  QCOMPARE(compared()->columnCount(), 6);
  const QStringList first{text(compared(), 0, 0), text(compared(), 0, 1), text(compared(), 0, 2),
                          text(compared(), 0, 3), text(compared(), 0, 4), text(compared(), 0, 5)};
  QCOMPARE(first, QStringList({"1", "Output, tok/s", "100", "200", "2.00 ×", "Better"}));
  QCOMPARE(text(compared(), 3, 0), QString("4"));
  QCOMPARE(text(compared(), 3, 4), QString("1.33 ×"));
  QCOMPARE(text(compared(), 1, 5), QString("Noise"));  // TTFT, the same in all runs
  QCOMPARE(label("bench.compare.figures.cells"), QString("2"));
  QCOMPARE(label("bench.compare.figures.cells.words"), QString("of 3 in A and 3 in B"));
  QCOMPARE(label("bench.compare.figures.verdicts"), QString("2"));
  QCOMPARE(label("bench.compare.figures.ratio"), QString("1.63 ×"));  // the square root of 2 x 4/3
  QCOMPARE(label("bench.compare.figures.goal"), QString("same answers in 2 of 2 cells"));
  QVERIFY(label("bench.compare.differences").startsWith("All settings are the same"));
  fixture_->find<QTableView>("bench.compare.table")->sortByColumn(4, Qt::AscendingOrder);
  QCOMPARE(text(compared(), 5, 4), QString("2.00 ×"));
}

void BenchHistoryTest::metrics_are_chosen_and_sides_swapped() {
  open_comparison();
  for (const char* metric : {"ttft_ms_p99", "itl_ms_p50"})
    fixture_->find<QAction>((std::string("bench.compare.metric.") + metric).c_str())->trigger();
  QCOMPARE(compared()->rowCount(), 2);
  QCOMPARE(fixture_->find<QPushButton>("bench.compare.metrics")->text(), QString("Metrics: 1"));
  fixture_->click("bench.compare.swap");
  QTRY_COMPARE(text(compared(), 0, 4), QString("0.50 ×"));
  QCOMPARE(text(compared(), 0, 5), QString("Worse"));
  QCOMPARE(label("bench.compare.figures.verdicts.unit"), QString("better, 2 worse, 0 noise"));
}

void BenchHistoryTest::what_cannot_be_compared_is_told() {
  const std::string other = write_journal(profile_->path(), "other.jsonl", plan_of("Other <b>work</b>", {"16", "32"}), 1, 2);
  open_window(profile_->path());
  fixture_->click("bench.tabs.2");
  auto* a = fixture_->find<QComboBox>("bench.compare.a");
  auto* b = fixture_->find<QComboBox>("bench.compare.b");
  QTRY_COMPARE(a->count(), 3);
  const auto choose = [&](QComboBox* side, const std::string& path) {
    side->setCurrentIndex(side->findData(QString::fromStdString(path)));
    Q_EMIT side->activated(side->currentIndex());
  };
  choose(a, older_);
  choose(b, other);
  // The chosen sweeps have no cell in common.
  const auto told = [&](const char* words) { return label("bench.compare.empty").contains(words); };
  QTRY_VERIFY2(told("no cells in common") && told("concurrency 1, 2, 4") && told("16, 32"),
               qPrintable(label("bench.compare.empty")));
  choose(b, older_);
  QVERIFY(label("bench.compare.empty").contains("Both sides show the same sweep"));
  choose(b, newer_);
  QTRY_VERIFY(!fixture_->find<QLabel>("bench.compare.empty")->isVisible());
  QVERIFY(fixture_->find<QTableView>("bench.compare.table")->isVisible());
}

void BenchHistoryTest::the_tables_are_models() {
  ui::HistoryTable history;
  ui::CompareTable compared;
  QAbstractItemModelTester first(&history, QAbstractItemModelTester::FailureReportingMode::Fatal);
  QAbstractItemModelTester second(&compared, QAbstractItemModelTester::FailureReportingMode::Fatal);
  std::vector<app::SweepFacts> facts;
  for (const std::string& path : {older_, newer_}) facts.push_back(*app::facts_of_sweep(path));
  history.show_sweeps(facts, QString::fromStdString(newer_));
  QCOMPARE(history.index(1, ui::HistoryTable::state).data().toString(), QString("Running"));
  QVERIFY(!history.flags(history.index(1, ui::HistoryTable::name)).testFlag(Qt::ItemIsEditable));
  QVERIFY(history.flags(history.index(0, ui::HistoryTable::name)).testFlag(Qt::ItemIsEditable));
  facts[1].kept.cells_done = facts[1].kept.cells_total;
  facts[1].cells_skipped = 2;
  history.show_sweeps(facts, {});
  QCOMPARE(history.index(1, ui::HistoryTable::state).data().toString(), QString("2 skipped"));
  facts[1].cells_failed = 1;
  history.show_sweeps(facts, {});
  QCOMPARE(history.index(1, ui::HistoryTable::state).data().toString(), QString("1 failed, 2 skipped"));
  compared.show_metrics({app::metric_index("output_tok_s")});
  compared.show_sweeps(std::make_shared<app::SweepRecord>(*app::read_sweep(older_)),
                       std::make_shared<app::SweepRecord>(*app::read_sweep(newer_)));
  QCOMPARE(compared.rowCount(), 2);
  compared.show_sweeps(nullptr, nullptr);
  QCOMPARE(compared.rowCount(), 0);
}

LATHE_WINDOW_TEST(BenchHistoryTest)

}  // namespace bench_history_test
#include "bench_history_test.moc"
