// SPDX-License-Identifier: GPL-3.0-or-later
// Tests of the Bench page's view of a sweep: the words for its end, the order of rows, their baseline, the variable that
// lines run over, and the parts of a view that the next sweep takes over.
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenu>
#include <QPushButton>

#include "tests/support/test_class.h"
#include "tests/ui/bench_fixture.h"
#include "ui/models/sweep_table.h"
#include "ui/panels/bench/charts/sweep_chart.h"
#include "ui/panels/bench/charts/sweep_charts.h"
#include "ui/panels/bench/history/history_view.h"
#include "ui/panels/bench/results/sweep_header.h"
#include "ui/widgets/chip.h"

namespace bench_view_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

/// Engines with blocks of 32 cannot be loaded.
FakeLoad without_32() {
  FakeLoad load;
  load.refuse = [](const engine::EngineOptions& options) -> std::optional<engine::Error> {
    if (options.block_size != 32) return {};
    return engine::Error{engine::ErrorCode::resource_exhausted, "no room", "memory"};
  };
  return load;
}

/// The texts of a column, from the top.
QStringList column_of(BenchFixture& fixture, int column) {
  QStringList all;
  for (int row = 0; row < fixture.table()->model()->rowCount(); ++row) all << fixture.cell(row, column);
  return all;
}

}  // namespace

class BenchViewTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void failed_cells_are_no_success();
  void failed_cells_stand_behind_the_others();
  void the_plan_is_disabled_while_it_runs();
  void the_order_follows_what_a_column_is_about();
  void choices_of_quality_end_with_it();
  void any_value_can_be_the_baseline();
  void lines_run_over_any_variable();
  void a_cell_is_chosen_before_it_is_copied();
  void the_menu_of_plans_opens_under_its_button();
  void points_at_zero_are_whole();
  void a_skipped_cell_has_not_failed();
  void a_sweep_without_a_measured_cell_is_no_success();
  void verdicts_without_their_column_name_it();
  void columns_are_chosen_and_kept();
};

void BenchViewTest::failed_cells_are_no_success() {
  BenchFixture fixture(without_32());
  const auto* chip = fixture.find<ui::Chip>("bench.state");
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(fixture.text("bench.header.title"), QString("2 of 2 cells"));
  QCOMPARE(chip->state(), ui::ChipState::success);
  fixture.vary("block_size", "16, 32");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(fixture.text("bench.header.title"), QString("4 of 4 cells, 2 failed"));
  QCOMPARE(chip->state(), ui::ChipState::warning);
  fixture.values_of("block_size")->setText("32");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(chip->word(), QString("All failed"));
}

void BenchViewTest::failed_cells_stand_behind_the_others() {
  BenchFixture fixture(without_32());
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.vary("block_size", "16, 32, 8");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  constexpr int kRate = 2;
  for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
    fixture.table()->sortByColumn(kRate, order);
    const QStringList rates = column_of(fixture, kRate);
    QCOMPARE(rates.indexOf("failed"), 4);
    QCOMPARE(rates.lastIndexOf("failed"), 5);
  }
  // Columns of the plan's values sort failed cells like all others.
  fixture.table()->sortByColumn(1, Qt::DescendingOrder);
  QCOMPARE(column_of(fixture, 1), QStringList({"8", "8", "32", "32", "16", "16"}));
}

void BenchViewTest::the_plan_is_disabled_while_it_runs() {
  FakeLoad load;
  load.loaded = [](FakeEngine& engine) { engine.set_token_delay(std::chrono::milliseconds(5)); };
  BenchFixture fixture(std::move(load));
  const char* const fields[] = {"bench.repeats",       "bench.load",    "bench.turns",
                                "bench.target.choice", "bench.shuffle", "bench.variable.concurrency.values"};
  fixture.values_of("concurrency")->setText("1, 2, 3, 4");
  fixture.vary("output_tokens", "4");
  fixture.click("bench.start");
  fixture.window->bridge().refresh();
  for (const char* field : fields) QVERIFY2(!fixture.find<QWidget>(field)->isEnabled(), field);
  QVERIFY(!fixture.find<QPushButton>("bench.variables.add")->isVisible());
  const ui::Tokens& tokens = fixture.theme->tokens();
  const QWidget* label = fixture.find<QWidget>("row.bench.repeats.label");
  QCOMPARE(label->palette().color(QPalette::Disabled, QPalette::WindowText), tokens.text3);  // it can be read
  fixture.click("bench.stop");
  QVERIFY(fixture.wait_for(app::SweepState::stopped));
  for (const char* field : fields) QVERIFY2(fixture.find<QWidget>(field)->isEnabled(), field);
  QVERIFY(!fixture.find<QWidget>("bench.output_tokens")->isEnabled());  // a variable says how many
  QVERIFY(fixture.find<QPushButton>("bench.variables.add")->isVisible());
}

void BenchViewTest::the_order_follows_what_a_column_is_about() {
  BenchFixture fixture;
  const auto sorted_by = [&] {
    const int section = fixture.table()->horizontalHeader()->sortIndicatorSection();
    return section < 0 ? QString() : fixture.table()->model()->headerData(section, Qt::Horizontal).toString();
  };
  fixture.values_of("concurrency")->setText("2, 1");
  fixture.vary("block_size", "16, 8");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(sorted_by(), QString());
  QCOMPARE(column_of(fixture, 0), QStringList({"2", "2", "1", "1"}));  // as planned
  fixture.table()->sortByColumn(2, Qt::DescendingOrder);
  QCOMPARE(sorted_by(), QString("Output tok/s"));
  // Two columns come with a baseline, and one goes with its variable.
  auto* baseline = fixture.find<QComboBox>("bench.baseline");
  baseline->setCurrentIndex(2);
  Q_EMIT baseline->activated(2);
  QCOMPARE(sorted_by(), QString("Output tok/s"));
  fixture.click("bench.variable.block_size.remove");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(sorted_by(), QString("Output tok/s"));
  QCOMPARE(fixture.table()->horizontalHeader()->sortIndicatorOrder(), Qt::DescendingOrder);
  // A sweep without the variable that rows were sorted by.
  fixture.table()->sortByColumn(0, Qt::AscendingOrder);
  fixture.vary("block_size", "16, 8");
  fixture.click("bench.variable.concurrency.remove");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(sorted_by(), QString());
  QCOMPARE(column_of(fixture, 0), QStringList({"16", "8"}));
}

void BenchViewTest::choices_of_quality_end_with_it() {
  BenchFixture fixture;
  app::SweepPlan plan;
  plan.variables = {{"concurrency", {"1", "2"}}};
  plan.quality_dataset = "/nowhere/stories.txt";
  auto* charts = fixture.window->findChild<ui::SweepCharts*>();
  charts->choose_for(plan);
  QCOMPARE(charts->shown_chart().metric, app::metric_index("kl_mean"));
  QCOMPARE(charts->shown_chart().over, std::optional(app::metric_index("output_tok_s")));
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(charts->shown_chart().metric, app::metric_index("output_tok_s"));
  QVERIFY(!charts->shown_chart().over.has_value());
  // A metric that every sweep has stays chosen.
  auto* metric = fixture.find<QComboBox>("bench.chart.metric");
  metric->setCurrentIndex(metric->findData(int(app::metric_index("itl_ms_p50"))));
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(charts->shown_chart().metric, app::metric_index("itl_ms_p50"));
}

void BenchViewTest::any_value_can_be_the_baseline() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.vary("policy", "paged, static");
  fixture.vary("block_size", "8, 16");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  auto* baseline = fixture.find<QComboBox>("bench.baseline");
  QStringList words;
  for (int i = 0; i < baseline->count(); ++i)
    if (!baseline->itemText(i).isEmpty()) words << baseline->itemText(i).remove("Baseline: ");
  QCOMPARE(words, QStringList({"No baseline", "concurrency 1", "concurrency 2", "paged", "static", "block size 8",
                               "block size 16"}));
  constexpr int kVerdict = 5;
  const auto baselines = [&](const QString& chosen) {
    baseline->setCurrentIndex(baseline->findText("Baseline: " + chosen));
    Q_EMIT baseline->activated(baseline->currentIndex());
    QStringList rows;
    for (int row = 0; row < 8; ++row) rows << QString(fixture.cell(row, kVerdict) == "Baseline" ? "x" : "-");
    return rows.join("");
  };
  QCOMPARE(baselines("concurrency 2"), QString("----xxxx"));
  QCOMPARE(baselines("static"), QString("--xx--xx"));
  QCOMPARE(baselines("block size 8"), QString("x-x-x-x-"));
  QCOMPARE(fixture.table()->model()->headerData(kVerdict - 1, Qt::Horizontal).toString(), QString("vs block size 8"));
  QVERIFY(fixture.cell(1, kVerdict - 1).endsWith('%'));
}

void BenchViewTest::lines_run_over_any_variable() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1, 2, 3");
  fixture.vary("policy", "paged, static");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  auto* chart = fixture.find<ui::SweepChart>("bench.chart");
  auto* over = fixture.find<QComboBox>("bench.chart.over");
  QCOMPARE(over->currentText(), QString("policy"));
  QCOMPARE(chart->names(), QStringList({"concurrency 1", "concurrency 2", "concurrency 3"}));
  over->setCurrentIndex(over->findText("concurrency"));
  Q_EMIT over->activated(over->currentIndex());
  QCOMPARE(chart->names(), QStringList({"paged", "static"}));
  QCOMPARE(chart->n_points(), 6);
  // The next sweep has it elsewhere, and the one after that not at all.
  fixture.vary("block_size", "8, 16");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(over->currentText(), QString("concurrency"));
  QCOMPARE(chart->names().front(), QString("paged, block size 8"));
  fixture.click("bench.variable.concurrency.remove");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(over->currentText(), QString("block size"));
}

void BenchViewTest::a_cell_is_chosen_before_it_is_copied() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QMenu* ways = fixture.find<QPushButton>("bench.reproduce")->menu();
  const auto enabled = [&] {
    Q_EMIT ways->aboutToShow();
    QStringList words;
    for (const QAction* action : ways->actions())
      if (action->isEnabled() && !action->isSeparator()) words << action->text();
    return words;
  };
  QCOMPARE(enabled(), QStringList({"Copy whole sweep as JSON plan"}));
  QVERIFY(ways->actions().front()->toolTip().contains("Select"));
  ways->actions().back()->trigger();
  QCOMPARE(fixture.text("bench.cells.said"), QString("Copied the plan of the sweep"));
  const auto json = engine::parse_json(QGuiApplication::clipboard()->text().toStdString(), "clipboard");
  QVERIFY(json.has_value());
  const auto plan = app::sweep_plan_from(*json);
  QVERIFY(plan.has_value());
  QCOMPARE(app::n_cells(*plan), std::size_t{2});
  fixture.table()->selectRow(1);
  QCOMPARE(enabled().size(), 4);
  ways->actions().front()->trigger();
  QCOMPARE(fixture.text("bench.cells.said"), QString("Copied the command of: Concurrency 2"));
}

void BenchViewTest::the_menu_of_plans_opens_under_its_button() {
  BenchFixture fixture;
  auto* button = fixture.find<QPushButton>("bench.title");
  auto* menu = fixture.find<QMenu>("bench.plans");
  fixture.click("bench.title");
  QTRY_VERIFY(menu->isVisible());
  QCOMPARE(menu->pos().x(), button->mapToGlobal(QPoint(0, 0)).x());
  menu->close();
}

void BenchViewTest::points_at_zero_are_whole() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  auto* over = fixture.find<QComboBox>("bench.chart.over");
  over->setCurrentIndex(over->findData(int(app::metric_index("preemptions"))));
  Q_EMIT over->activated(over->currentIndex());
  auto* chart = fixture.find<ui::SweepChart>("bench.chart");
  QTRY_VERIFY(chart->room_at_zero().x() >= 4 && chart->room_at_zero().y() >= 3);
}

void BenchViewTest::a_skipped_cell_has_not_failed() {
  FakeLoad load;
  load.loaded = [](FakeEngine& engine) { engine.set_token_delay(std::chrono::milliseconds(5)); };
  BenchFixture fixture(std::move(load));
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  fixture.click("bench.pause");
  QVERIFY(fixture.wait_for(app::SweepState::paused));
  const std::size_t skipped = fixture.workbench->sweeper().status().progress.cell;
  fixture.click("bench.skip");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(fixture.text("bench.header.title"), QString("2 of 2 cells, 1 skipped"));
  QCOMPARE(fixture.text("bench.header.failed"), QString());
  QCOMPARE(fixture.find<ui::Chip>("bench.state")->state(), ui::ChipState::success);
  QCOMPARE(fixture.cell(static_cast<int>(skipped), 1), QString("skipped"));
  QCOMPARE(fixture.find<QPushButton>("bench.resume")->text(), QString("Measure skipped"));
  fixture.click("bench.resume");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(fixture.text("bench.header.title"), QString("2 of 2 cells"));
  QVERIFY(!fixture.find<QPushButton>("bench.resume")->isVisible());
}

void BenchViewTest::a_sweep_without_a_measured_cell_is_no_success() {
  app::SweepPlan plan;
  plan.variables = {{"concurrency", {"1", "2"}}};
  app::SweepReport report;
  report.cells[0].error = report.cells[1].error = app::kSkipped;
  app::SweepStatus status;
  status.state = app::SweepState::done;
  status.plan = std::make_shared<app::SweepPlan>(plan);
  status.report = std::make_shared<app::SweepReport>(report);
  status.progress.cells_done = status.progress.cells_total = 2;
  ui::Theme theme;
  ui::SweepHeader header(theme, nullptr);
  header.show_sweep(status);
  const auto* chip = header.findChild<ui::Chip*>("bench.state");
  QCOMPARE(chip->state(), ui::ChipState::warning);
  QCOMPARE(chip->word(), QString("All skipped"));
  QCOMPARE(header.findChild<QPushButton*>("bench.resume")->text(), QString("Measure skipped"));
}

void BenchViewTest::verdicts_without_their_column_name_it() {
  app::SweepPlan plan;
  plan.variables = {{"concurrency", {"1", "2"}}};
  app::SweepStatus status;
  status.plan = std::make_shared<app::SweepPlan>(plan);
  status.report = std::make_shared<app::SweepReport>();
  ui::SweepTable table;
  table.show_sweep(status);
  table.set_baseline(ui::SweepTable::Baseline{0, 0});
  const auto heading = [&](const char* meaning) {
    return table.headerData(table.column_of(meaning), Qt::Horizontal, Qt::DisplayRole).toString();
  };
  QCOMPARE(heading("difference"), QString("vs concurrency 1"));
  QCOMPARE(heading("verdict"), QString("Verdict"));
  table.set_metrics({app::metric_index("ttft_ms_p50")});
  QCOMPARE(heading("difference"), QString("Output tok/s vs concurrency 1"));
  QCOMPARE(heading("verdict"), QString("Verdict on Output tok/s"));
  table.set_metrics({app::metric_index("output_tok_s"), app::metric_index("ttft_ms_p50")});
  QCOMPARE(heading("difference"), QString("vs concurrency 1"));
}

void BenchViewTest::columns_are_chosen_and_kept() {
  const QTemporaryDir profile;
  const auto headings = [](BenchFixture& fixture) {
    QStringList all;
    for (int i = 0; i < fixture.table()->model()->columnCount(); ++i)
      all << fixture.table()->model()->headerData(i, Qt::Horizontal).toString();
    return all;
  };
  QStringList usual;
  {
    BenchFixture fixture(without_32(), profile.path());
    fixture.values_of("concurrency")->setText("1");
    fixture.vary("block_size", "16, 32");
    fixture.click("bench.start");
    QVERIFY(fixture.wait_for(app::SweepState::done));
    usual = headings(fixture);
    QVERIFY(usual.contains("Output tok/s") && !usual.contains("E2E mean ms"));
    QCOMPARE(fixture.find<QAction>("bench.columns.output_tok_s")->isChecked(), true);
    QVERIFY(fixture.find<QAction>("bench.columns.e2e_ms_mean")->toolTip().length() > 10);
    QVERIFY(fixture.find<QAction>("bench.columns.perplexity_ci95") == nullptr);  // stands beside its metric
    fixture.find<QAction>("bench.columns.e2e_ms_mean")->trigger();
    fixture.find<QAction>("bench.columns.answers")->trigger();
    QCOMPARE(headings(fixture).size(), usual.size() + 2);
    QVERIFY(headings(fixture).contains("E2E mean ms"));
    // The first metric column says that a cell failed, whichever metric it shows.
    fixture.find<QAction>("bench.columns.output_tok_s")->trigger();
    QVERIFY(!headings(fixture).contains("Output tok/s"));
    QCOMPARE(fixture.cell(1, 2), QString("failed"));
  }
  BenchFixture fixture(without_32(), profile.path());
  Q_EMIT fixture.find<ui::HistoryView>("bench.history")
      ->open_wanted(QString::fromStdString(fixture.workbench->sweeper().kept().front().path));
  QVERIFY(headings(fixture).contains("E2E mean ms") && !headings(fixture).contains("Output tok/s"));
  const QString answers = fixture.cell(0, static_cast<int>(headings(fixture).indexOf("Answers")));
  QCOMPARE(answers, QString::fromStdString(fixture.workbench->sweeper().status().report->cells.at(0).checksums_of(
                        app::metric_index("answers"))));
  // The last one stays.
  for (QAction* action : fixture.find<QMenu>("bench.columns.menu")->findChildren<QAction*>()) {
    if (action->isCheckable() && action->isChecked()) action->trigger();
  }
  QCOMPARE(headings(fixture).size(), 2 + 1 + 1);
  fixture.find<QAction>("bench.columns.reset")->trigger();
  QCOMPARE(headings(fixture), usual);
}

LATHE_WINDOW_TEST(BenchViewTest)

}  // namespace bench_view_test
#include "bench_view_test.moc"
