// SPDX-License-Identifier: GPL-3.0-or-later
// The distribution chart of the Bench page: its lines, goal, axis and words, what it says when it has none, and its choices.
#include <QCheckBox>
#include <QComboBox>
#include <QTemporaryDir>

#include "app/bench/sweep/result/sweep_journal.h"
#include "tests/support/test_class.h"
#include "tests/ui/bench_fixture.h"
#include "ui/panels/bench/charts/chart_legend.h"
#include "ui/panels/bench/charts/distribution_chart.h"
#include "ui/panels/bench/charts/sweep_chart.h"
#include "ui/panels/bench/charts/sweep_charts.h"
#include "ui/panels/bench/history/history_view.h"

namespace bench_distribution_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

const std::size_t kTtft = app::latency_index("ttft_ms"), kItl = app::latency_index("itl_ms");

/// A sweep over that many values of concurrency, without results.
app::SweepStatus status_of(int n_cells) {
  app::SweepPlan plan;
  plan.variables = {{"concurrency", {}}};
  for (int i = 1; i <= n_cells; ++i) plan.variables[0].values.push_back(std::to_string(i));
  app::SweepStatus status;
  status.state = app::SweepState::done;
  status.plan = std::make_shared<app::SweepPlan>(plan);
  status.report = std::make_shared<app::SweepReport>();
  return status;
}

/// One more run of the cell, with those TTFT.
void add_run(app::SweepStatus& status, std::size_t cell, std::vector<double> ttft) {
  auto report = std::make_shared<app::SweepReport>(*status.report);
  std::vector<app::LatencyDistribution> all(app::latencies().size());
  all[kTtft] = app::distribution_of(std::move(ttft));
  report->cells[cell].samples.emplace_back(app::sweep_metrics().size(), 1.0);
  report->cells[cell].distributions.push_back(std::make_shared<const std::vector<app::LatencyDistribution>>(all));
  status.report = report;
}

void set_goal(app::SweepStatus& status, double ttft_ms) {
  auto plan = std::make_shared<app::SweepPlan>(*status.plan);
  plan->goal.ttft_ms = ttft_ms;
  status.plan = plan;
}

/// The shares of a stair, in per cent.
QVector<double> shares_of(const QPolygonF& corners) {
  QVector<double> shares;
  for (const QPointF& corner : corners) shares << corner.y();
  return shares;
}

}  // namespace

class BenchDistributionTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    chart_ = std::make_unique<ui::DistributionChart>(theme_, nullptr);
    chart_->resize(600, 400);
  }
  void cleanup() { chart_.reset(); }

  void a_line_is_a_stair_of_all_runs_of_its_cell();
  void a_point_is_told_by_the_nearest_line();
  void the_goal_is_drawn_where_it_is_in_sight();
  void values_far_apart_have_an_axis_of_ratios();
  void the_selected_cell_is_stronger();
  void what_is_missing_is_said();
  void lines_beyond_the_most_are_counted();
  void a_legend_without_room_counts_the_rest();
  void a_measured_sweep_has_all_four();
  void a_line_and_a_row_choose_each_other();
  void a_sweep_of_before_says_that_it_has_none();
  void a_single_cell_has_its_distribution_alone();

 private:
  ui::Theme theme_;
  std::unique_ptr<ui::DistributionChart> chart_;
};

void BenchDistributionTest::a_line_is_a_stair_of_all_runs_of_its_cell() {
  app::SweepStatus status = status_of(2);
  add_run(status, 0, {10, 30});
  add_run(status, 0, {20, 40});
  add_run(status, 1, {50});
  chart_->show_sweep(status, kTtft);
  QCOMPARE(chart_->cells(), (std::vector<std::size_t>{0, 1}));
  QCOMPARE(chart_->name_of(1), QString("concurrency 2"));
  const QPolygonF corners({{10, 0}, {10, 25}, {20, 50}, {30, 75}, {40, 100}});
  QCOMPARE(chart_->corners_of(0), corners);
  QCOMPARE(chart_->axis_title(), QString("TTFT, ms"));
  QVERIFY(chart_->accessibleDescription().contains("concurrency 1: half within 20.0 ms, 99 % within 40.0 ms"));
}

void BenchDistributionTest::a_point_is_told_by_the_nearest_line() {
  app::SweepStatus status = status_of(2);
  add_run(status, 0, {100, 200, 300, 400});
  add_run(status, 1, {600, 700, 800, 900});
  chart_->show_sweep(status, kTtft);
  chart_->grab();  // what is drawn has its place
  const QString words = chart_->text_at(chart_->place_of(250, 50));
  QVERIFY2(words.contains("concurrency 1") && words.contains("50 % within 250 ms"), qPrintable(words));
  QVERIFY2(words.contains("p50 200, p90 400, p99 400 ms<br>n 4"), qPrintable(words));
  QVERIFY(chart_->text_at(chart_->place_of(600, 10)).contains("concurrency 2"));
  QVERIFY(chart_->text_at(chart_->place_of(500, 60)).isEmpty());
  QVERIFY(chart_->text_at(QPointF(1, 399)).isEmpty());
}

void BenchDistributionTest::the_goal_is_drawn_where_it_is_in_sight() {
  app::SweepStatus status = status_of(1);
  add_run(status, 0, {100, 200});
  const auto n_drawn = [&](double goal, std::size_t latency) {
    set_goal(status, goal);
    chart_->show_sweep(status, latency);
    return int(chart_->has_goal_line());
  };
  QCOMPARE(n_drawn(0, kTtft), 0);
  QCOMPARE(n_drawn(150, kTtft), 1);
  QCOMPARE(n_drawn(400, kTtft), 1);
  QVERIFY(chart_->is_in_range(400));
  QCOMPARE(n_drawn(4000, kTtft), 0);
  QVERIFY(!chart_->is_in_range(4000));
  QCOMPARE(n_drawn(150, app::latency_index("e2e_ms")), 0);
}

void BenchDistributionTest::values_far_apart_have_an_axis_of_ratios() {
  app::SweepStatus status = status_of(2);
  add_run(status, 0, {100, 200});
  chart_->show_sweep(status, kTtft);
  QVERIFY(!chart_->offers_ratios());
  QVERIFY(!chart_->is_by_ratio());
  add_run(status, 1, {10, 5000});
  chart_->show_sweep(status, kTtft);
  QVERIFY(chart_->offers_ratios());
  QVERIFY(chart_->is_by_ratio());
  QVERIFY(!chart_->is_in_range(0));
  chart_->set_by_ratio(false);
  QVERIFY(!chart_->is_by_ratio());
  QVERIFY(chart_->is_in_range(5000));
}

void BenchDistributionTest::the_selected_cell_is_stronger() {
  app::SweepStatus status = status_of(3);
  for (std::size_t cell = 0; cell < 3; ++cell) add_run(status, cell, {10.0 * double(cell + 1), 90});
  chart_->show_sweep(status, kTtft);
  const double usual = chart_->pen_of(1).widthF();
  chart_->select_cell(1);
  QCOMPARE(chart_->top_cell(), std::optional<std::size_t>(1));
  QVERIFY(chart_->pen_of(1).widthF() > 1.5 * usual);
  QCOMPARE(chart_->cells(), (std::vector<std::size_t>{0, 1, 2}));
  chart_->select_cell({});
  QCOMPARE(chart_->pen_of(1).widthF(), usual);
}

void BenchDistributionTest::what_is_missing_is_said() {
  app::SweepStatus status = status_of(2);
  chart_->show_sweep(status, kTtft);
  QCOMPARE(chart_->message(), QString("Nothing has been measured yet"));
  auto old = std::make_shared<app::SweepReport>();
  old->cells[0].samples.emplace_back(app::sweep_metrics().size(), 1.0);
  status.report = old;
  chart_->show_sweep(status, kTtft);
  QCOMPARE(chart_->message(), QString("This sweep was measured by a version that kept no distributions"));
  QCOMPARE(chart_->accessibleDescription(), chart_->message());
  QVERIFY(chart_->text_at(QPointF(300, 200)).isEmpty());
  add_run(status, 1, {10, 20});
  chart_->show_sweep(status, kTtft);
  QVERIFY(chart_->message().isEmpty());
  chart_->show_sweep(status, kItl);
  QVERIFY(chart_->message().startsWith("No answer had two tokens"));
}

/// 24 of 30; the selected one is among them, and every one looks different.
void BenchDistributionTest::lines_beyond_the_most_are_counted() {
  app::SweepStatus status = status_of(30);
  for (std::size_t cell = 0; cell < 30; ++cell) add_run(status, cell, {double(cell + 1), 90});
  chart_->show_sweep(status, kTtft);
  QCOMPARE(chart_->cells().size(), std::size_t{24});
  QCOMPARE(chart_->cells().back(), std::size_t{23});
  QSet<QString> looks;
  for (const std::size_t cell : chart_->cells()) {
    const QPen pen = chart_->pen_of(cell);
    QString look = pen.color().name();
    for (const qreal length : pen.dashPattern()) look += QString(" %1").arg(length * pen.widthF(), 0, 'f', 1);
    looks.insert(look);
  }
  QCOMPARE(looks.size(), 24);
  chart_->select_cell(28);
  QCOMPARE(chart_->cells().back(), std::size_t{28});
  add_run(status, 28, {100});
  chart_->show_sweep(status, kTtft);  // another report
  QCOMPARE(chart_->corners_of(28).back().x(), 100.0);
  QCOMPARE(chart_->cells().back(), std::size_t{28});
}

void BenchDistributionTest::a_legend_without_room_counts_the_rest() {
  ui::ChartLegend legend(theme_);
  std::vector<ui::LegendEntry> entries;
  for (int i = 0; i < 24; ++i) entries.push_back({.name = QString("concurrency %1").arg(i), .pen = {}});
  legend.set(entries);
  legend.place(400);
  QCOMPARE(legend.n_left_out(), 0);
  QVERIFY(legend.n_rows() > 3);
  legend.place(400, 2);
  QCOMPARE(legend.n_rows(), 2);
  QVERIFY(legend.n_left_out() > 12);
  QCOMPARE(legend.entry_at(QPointF(2, 6)), 0);
  QCOMPARE(legend.entry_at(QPointF(399, 30)), -1);
}

void BenchDistributionTest::a_measured_sweep_has_all_four() {
  FakeLoad load;
  load.loaded = [](FakeEngine& engine) { engine.set_token_delay(std::chrono::milliseconds(1)); };
  BenchFixture fixture(std::move(load));
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  auto* chart = fixture.find<ui::DistributionChart>("bench.distribution");
  auto* charts = fixture.window->findChild<ui::SweepCharts*>();
  QVERIFY(chart->isHidden() && !charts->shown_chart().latency);
  fixture.click("bench.chart.kind.1");
  QVERIFY(chart->isVisible() && !fixture.find<ui::SweepChart>("bench.chart")->isVisible());
  QVERIFY(!fixture.find<QComboBox>("bench.chart.metric")->isVisible());
  auto* choice = fixture.find<QComboBox>("bench.distribution.latency");
  QStringList words;
  for (int i = 0; i < choice->count(); ++i) {
    words << choice->itemText(i);
    choice->setCurrentIndex(i);
    Q_EMIT choice->activated(i);
    QCOMPARE(charts->shown_chart().latency, std::optional(std::size_t(i)));
    QCOMPARE(fixture.text("bench.distribution.note").contains("gaps"), std::size_t(i) == kItl);
    QCOMPARE(chart->cells(), (std::vector<std::size_t>{0, 1}));
    QCOMPARE(shares_of(chart->corners_of(0)).back(), 100.0);
    QCOMPARE(fixture.find<QCheckBox>("bench.distribution.by_ratio")->isVisible(), chart->offers_ratios());
  }
  QCOMPARE(words, QStringList({"TTFT, ms", "ITL, ms", "TPOT, ms", "E2E, ms"}));
  // Two runs of four requests.
  const app::SweepStatus status = fixture.workbench->sweeper().status();
  QCOMPARE(status.report->cells.at(1).distribution_of(kTtft).n, std::size_t{8});
  fixture.click("bench.chart.kind.0");
  QVERIFY(!chart->isVisible() && fixture.find<ui::SweepChart>("bench.chart")->isVisible());
}

void BenchDistributionTest::a_line_and_a_row_choose_each_other() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  fixture.click("bench.chart.kind.1");
  auto* chart = fixture.find<ui::DistributionChart>("bench.distribution");
  fixture.table()->selectRow(0);
  QCOMPARE(chart->top_cell(), std::optional<std::size_t>(0));
  QVERIFY(chart->pen_of(0).widthF() > 2.2);
  QTest::mouseClick(chart, Qt::LeftButton, {}, QPoint(theme_.px(120), theme_.px(8)));  // the second name
  QCOMPARE(fixture.table()->currentIndex().row(), 1);
  QVERIFY(chart->pen_of(0).widthF() < 2.2 && chart->pen_of(1).widthF() > 2.2);
  // Another sweep has none selected.
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QVERIFY(chart->pen_of(0).widthF() < 2.2 && chart->pen_of(1).widthF() < 2.2);
}

void BenchDistributionTest::a_sweep_of_before_says_that_it_has_none() {
  QTemporaryDir profile;
  const QString folder = profile.path() + "/data/sweeps";
  QVERIFY(QDir().mkpath(folder));
  app::SweepPlan plan = *status_of(2).plan;
  plan.options.model = "/models/small";
  const QString path = folder + "/old.jsonl";
  {
    auto journal = app::SweepJournal::open(path.toStdString(), plan, false);
    QVERIFY(journal->add_sample(0, std::vector<double>(app::sweep_metrics().size(), 2.0)).has_value());
  }
  BenchFixture fixture({}, profile.path());
  Q_EMIT fixture.window->findChild<ui::HistoryView*>()->open_wanted(path);
  fixture.click("bench.chart.kind.1");
  QCOMPARE(fixture.text("bench.distribution.message"),
           QString("This sweep was measured by a version that kept no distributions"));
  QVERIFY(fixture.find<QLabel>("bench.distribution.message")->isVisible());
}

void BenchDistributionTest::a_single_cell_has_its_distribution_alone() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  auto* chart = fixture.find<ui::DistributionChart>("bench.distribution");
  QVERIFY(chart->isVisible());
  QVERIFY(!fixture.find<QWidget>("bench.chart.kind")->isVisible() && !fixture.find<QWidget>("bench.heat")->isVisible());
  QCOMPARE(chart->cells(), std::vector<std::size_t>{0});
  QVERIFY(chart->name_of(0).isEmpty());
}

LATHE_WINDOW_TEST(BenchDistributionTest)

}  // namespace bench_distribution_test
#include "bench_distribution_test.moc"
