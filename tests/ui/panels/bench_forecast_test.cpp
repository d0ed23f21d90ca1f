// SPDX-License-Identifier: GPL-3.0-or-later
// Tests of the time that the window forecasts for a sweep, and of a sweep that runs while another page is shown.
#include <QPushButton>
#include <atomic>
#include <future>

#include "tests/support/test_class.h"
#include "tests/ui/bench_fixture.h"
#include "ui/models/sweep_forecast.h"
#include "ui/models/sweep_text.h"
#include "ui/panels/bench/results/cell_grid.h"
#include "ui/panels/bench/results/sweep_header.h"
#include "ui/shell/status_bar.h"

namespace bench_forecast_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

FakeLoad slow_tokens() {
  FakeLoad load;
  load.loaded = [](FakeEngine& engine) { engine.set_token_delay(std::chrono::milliseconds(10)); };
  return load;
}

/// A sweep of cells with words as values, which is in its first cell.
app::SweepStatus running_status() {
  app::SweepPlan plan;
  plan.options.model = "somewhere";
  plan.variables = {{"policy", {"static", "continuous"}}, {"concurrency", {"1", "2", "4", "8", "16", "32"}}};
  app::SweepStatus status;
  status.state = app::SweepState::running;
  status.plan = std::make_shared<app::SweepPlan>(plan);
  status.report = std::make_shared<app::SweepReport>();
  status.progress = {.cells_done = 0,
                     .cells_total = 12,
                     .cell = 0,
                     .repeat = 1,
                     .doing = "measuring",
                     .seconds = 1190,
                     .seconds_left = 4000};
  return status;
}

}  // namespace

class BenchForecastTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_kept_sweep_tells_how_long_the_next_takes();
  void the_head_says_it_before_the_first_cell();
  void what_nobody_knows_is_said();
  void a_sweep_waits_for_the_measurement_that_has_begun();
  void a_measurement_that_has_not_begun_is_given_up();
  void the_status_bar_is_of_what_is_measured();
  void a_narrow_head_shows_its_times();
  void times_are_rounded_as_they_are_known();
};

void BenchForecastTest::a_kept_sweep_tells_how_long_the_next_takes() {
  BenchFixture fixture(slow_tokens());
  fixture.values_of("concurrency")->setText("1, 2");
  QVERIFY(fixture.text("bench.cost").endsWith("time unknown until the first cell"));
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QTRY_VERIFY(fixture.text("bench.cost").contains("2 cells × 2 repeats</b> ≈ "));
  QVERIFY(fixture.find<QWidget>("bench.cost")->toolTip().contains("kept sweeps"));
  // Twice the repeats and four times the tokens; with each edit.
  fixture.find<QSpinBox>("bench.repeats")->setValue(40);
  fixture.find<QSpinBox>("bench.output_tokens")->setValue(400);
  QVERIFY(fixture.text("bench.cost").contains("2 cells × 40 repeats</b> ≈ "));
  QVERIFY(fixture.text("bench.cost").contains(" min"));
  // No rate is known for another format.
  fixture.vary("quantization", "none, int8_g32");
  QVERIFY(fixture.text("bench.cost").endsWith("time unknown until the first cell"));
  fixture.click("bench.variable.quantization.remove");
  QVERIFY(fixture.text("bench.cost").contains("≈ "));
}

void BenchForecastTest::the_head_says_it_before_the_first_cell() {
  BenchFixture fixture(slow_tokens());
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QTRY_VERIFY(fixture.text("bench.cost").contains("≈ "));
  fixture.find<QSpinBox>("bench.output_tokens")->setValue(1000);
  QVERIFY(fixture.text("bench.cost").contains("≈ "));
  fixture.click("bench.start");
  fixture.window->bridge().refresh();
  QTRY_VERIFY(fixture.text("bench.header.facts").contains("≈ "));
  QVERIFY(fixture.text("bench.header.facts").contains(" left"));
  QVERIFY(!fixture.text("bench.cost").contains("≈ "));  // one time at a place is enough
  fixture.click("bench.stop");
  QVERIFY(fixture.wait_for(app::SweepState::stopped));
  QVERIFY(!fixture.text("bench.header.facts").contains("≈ "));
}

void BenchForecastTest::what_nobody_knows_is_said() {
  ui::Background background;
  ui::SweepForecast forecast(background, nullptr);
  app::SweepPlan plan;
  plan.options.model = "somewhere";
  QVERIFY(!forecast.of(plan, nullptr, {}, true));
  // The least time is looked for in the background, once the machine may be measured.
  engine::ModelInfo info;
  info.path = "/nowhere";
  QVERIFY(!forecast.of(plan, nullptr, info, true));  // nor before the kept sweeps are read
  forecast.set_rates({});
  int n_changed = 0;
  connect(&forecast, &ui::SweepForecast::changed, &forecast, [&] { ++n_changed; });
  QVERIFY(!forecast.of(plan, nullptr, info, false));
  background.wait();
  QCoreApplication::processEvents();
  QCOMPARE(n_changed, 0);
  QVERIFY(!forecast.of(plan, nullptr, info, true));
  QTRY_COMPARE_WITH_TIMEOUT(n_changed, 1, kPatienceMs);
  QVERIFY(!forecast.of(plan, nullptr, info, true));  // and for this model there is none
  QTest::qWait(50);
  QCOMPARE(n_changed, 1);  // which is asked once
}

void BenchForecastTest::a_sweep_waits_for_the_measurement_that_has_begun() {
  std::promise<void> begun, may_end;
  std::atomic<int> n_measured = 0;
  ui::Background background;
  ui::SweepForecast forecast(background, nullptr, [&] {
    if (++n_measured == 1) begun.set_value();
    may_end.get_future().wait();
    return kernels::Ceilings{};
  });
  int n_started = 0;
  const auto start = [&] { ++n_started; };
  forecast.make_way(start);
  QCOMPARE(n_started, 1);  // nothing is measured
  app::SweepPlan plan;
  plan.options.model = "somewhere";
  QVERIFY(!forecast.of(plan, nullptr, engine::ModelInfo(), true));
  background.wait();
  QCOMPARE(n_measured.load(), 0);  // a kept sweep may know better
  forecast.set_rates({});
  QVERIFY(!forecast.of(plan, nullptr, engine::ModelInfo(), true));
  begun.get_future().wait();
  forecast.make_way(start);
  QVERIFY(forecast.is_awaited());
  QCOMPARE(n_started, 1);
  may_end.set_value();
  QTRY_COMPARE_WITH_TIMEOUT(n_started, 2, kPatienceMs);
  QVERIFY(!forecast.is_awaited());
  forecast.make_way(start);
  QCOMPARE(n_started, 3);
  QCOMPARE(n_measured.load(), 1);
}

void BenchForecastTest::a_measurement_that_has_not_begun_is_given_up() {
  std::atomic<int> n_measured = 0;
  ui::Background background;
  ui::SweepForecast forecast(background, nullptr, [&] {
    ++n_measured;
    return kernels::Ceilings{};
  });
  forecast.set_rates({});
  std::promise<void> may_end;
  const std::shared_future<void> ends = may_end.get_future().share();
  const auto hold = [ends] {
    ends.wait();
    return 0;
  };
  for (int i = 0; i < 2; ++i) background.run(&forecast, hold, [](int) {});  // all workers
  app::SweepPlan plan;
  plan.options.model = "somewhere";
  QVERIFY(!forecast.of(plan, nullptr, engine::ModelInfo(), true));
  int n_started = 0, n_changed = 0;
  connect(&forecast, &ui::SweepForecast::changed, &forecast, [&] { ++n_changed; });
  forecast.make_way([&] { ++n_started; });
  QCOMPARE(n_started, 1);
  may_end.set_value();
  QTRY_COMPARE_WITH_TIMEOUT(n_changed, 1, kPatienceMs);
  QCOMPARE(n_measured.load(), 0);
  QVERIFY(!forecast.of(plan, nullptr, engine::ModelInfo(), true));  // it is looked for again
  QTRY_COMPARE_WITH_TIMEOUT(n_measured.load(), 1, kPatienceMs);
}

void BenchForecastTest::the_status_bar_is_of_what_is_measured() {
  BenchFixture fixture(slow_tokens());
  auto* bar = fixture.find<ui::StatusBar>("status_bar");
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.find<QSpinBox>("bench.output_tokens")->setValue(500);
  const auto click = [&](int x) { QTest::mouseClick(bar, Qt::LeftButton, {}, QPoint(x, bar->height() / 2)); };
  fixture.show_panel("chat");
  QTest::qWait(50);
  click(30);  // nothing runs
  QVERIFY(fixture.find<QWidget>("chat")->isVisible());
  fixture.show_panel("bench");
  fixture.click("bench.start");
  QTRY_VERIFY(bar->state_word() == "Measuring 1 of 2");
  QVERIFY(bar->rate_text() != "0 tok/s");
  QTRY_VERIFY_WITH_TIMEOUT(bar->rate_text().endsWith("tok/s") && bar->rate_text() != "– tok/s", kPatienceMs);
  const std::size_t cell = fixture.workbench->sweeper().status().progress.cell;
  QVERIFY2(bar->accessibleName().contains(QString("Running %1, waiting 0").arg(cell + 1)),
           qPrintable(bar->accessibleName()));
  fixture.show_panel("chat");
  QVERIFY(!fixture.find<QWidget>("bench")->isVisible());
  QTest::qWait(50);
  click(bar->width() - 5);
  QVERIFY(!fixture.find<QWidget>("bench")->isVisible());
  click(30);
  QVERIFY(fixture.find<QWidget>("bench")->isVisible());
  fixture.workbench->sweeper().stop();
  QVERIFY(fixture.wait_for(app::SweepState::stopped));
  QCOMPARE(bar->state_word(), QString("No model"));
}

void BenchForecastTest::a_narrow_head_shows_its_times() {
  ui::Theme theme;
  ui::SweepHeader header(theme, nullptr);
  header.show();
  header.show_sweep(running_status());
  auto* facts = header.findChild<QLabel*>("bench.header.facts");
  const auto is_whole = [&] {
    QCoreApplication::processEvents();
    return facts->width() >= facts->sizeHint().width() && facts->height() >= facts->sizeHint().height() &&
           facts->mapTo(&header, QPoint(facts->width(), 0)).x() <= header.width();
  };
  header.resize(1200, header.sizeHint().height());
  QVERIFY(is_whole());
  QVERIFY(header.findChild<ui::CellGrid*>()->isVisible());
  QVERIFY(!facts->text().contains("<br>"));
  header.resize(420, header.sizeHint().height());
  QVERIFY(is_whole());
  QVERIFY(!header.findChild<ui::CellGrid*>()->isVisible());
  header.resize(320, 140);
  QVERIFY(is_whole());
  QVERIFY(facts->text().contains("<br>"));
  header.resize(1200, 140);
  QVERIFY(is_whole());
  QVERIFY(header.findChild<ui::CellGrid*>()->isVisible());
}

void BenchForecastTest::times_are_rounded_as_they_are_known() {
  QCOMPARE(ui::about_text(12.4), QString("12 s"));
  QCOMPARE(ui::about_text(310), QString("5 min 10 s"));
  QCOMPARE(ui::about_text(1580), QString("26 min"));
  QCOMPARE(ui::about_text(3590), QString("59 min 50 s"));
  QCOMPARE(ui::about_text(7260), QString("2 h 1 min"));
}

LATHE_WINDOW_TEST(BenchForecastTest)

}  // namespace bench_forecast_test
#include "bench_forecast_test.moc"
