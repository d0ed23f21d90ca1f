// SPDX-License-Identifier: GPL-3.0-or-later
// The Bench page's plan of a load of saturation and of lognormal lengths, and what a search of the highest rate shows.
#include <QComboBox>
#include <QLabel>
#include <QSpinBox>
#include <QTableView>

#include "tests/support/test_class.h"
#include "tests/ui/bench_fixture.h"

namespace bench_saturation_test {

using namespace lathe;
using namespace lathe::tests;

class BenchSaturationTest : public QObject {
  Q_OBJECT

  static void choose(BenchFixture& fixture, const char* name, const char* value) {
    auto* box = fixture.find<QComboBox>(name);
    QVERIFY2(box->findData(value) >= 0, value);
    box->setCurrentIndex(box->findData(value));
  }

 private Q_SLOTS:
  void saturation_asks_for_no_rate_and_no_concurrency() {
    BenchFixture fixture;
    fixture.click("bench.variable.concurrency.remove");
    const auto shows = [&](const char* name) { return fixture.find<QWidget>(name)->isVisibleTo(fixture.window.get()); };
    QVERIFY(shows("bench.concurrency") && shows("bench.turns"));
    choose(fixture, "bench.load", "poisson");
    QVERIFY(shows("bench.rate") && !shows("bench.concurrency") && shows("bench.turns"));
    choose(fixture, "bench.load", "saturation");
    QVERIFY(!shows("bench.rate") && !shows("bench.concurrency") && !shows("bench.turns"));
    QVERIFY(shows("bench.max_waiting") && shows("bench.max_seconds") && shows("bench.requests"));
    fixture.vary("rate", "1, 2");
    QVERIFY2(fixture.text("bench.cost").contains("load saturation finds it"), qPrintable(fixture.text("bench.cost")));
  }

  void a_search_shows_the_highest_rate() {
    BenchFixture fixture;
    fixture.click("bench.variable.concurrency.remove");
    choose(fixture, "bench.load", "saturation");
    fixture.find<QSpinBox>("bench.requests")->setValue(60);
    fixture.find<QSpinBox>("bench.goal_ttft")->setValue(10'000);
    fixture.vary("prompt_tokens", "8, 12");
    fixture.click("bench.start");
    QVERIFY(fixture.wait_for(app::SweepState::done));
    const app::SweepStatus status = fixture.workbench->sweeper().status();
    const app::CellResult& cell = status.report->cells.at(0);
    QVERIFY2(cell.error.empty(), cell.error.c_str());
    QCOMPARE(fixture.table()->model()->headerData(1, Qt::Horizontal).toString(), QString("Max rate req/s"));
    QVERIFY(!fixture.cell(0, 1).isEmpty());
    QVERIFY(fixture.find<QLabel>("bench.service.most")->text() != QString("–"));
    QCOMPARE(fixture.text("bench.service.most.unit"), QString("req/s at most"));
  }

  void lengths_may_be_lognormal_and_then_wider_than_their_mean() {
    BenchFixture fixture;
    auto* spread = fixture.find<QSpinBox>("bench.length_spread");
    QCOMPARE(spread->maximum(), 100);
    choose(fixture, "bench.length_distribution", "lognormal");
    spread->setValue(150);
    QVERIFY(!spread->text().contains(QString("±")));
    fixture.values_of("concurrency")->setText("1");
    fixture.click("bench.start");
    QVERIFY(fixture.wait_for(app::SweepState::done));
    const app::SweepWorkload& work = fixture.workbench->sweeper().status().plan->workload;
    QCOMPARE(work.length_distribution, std::string("lognormal"));
    QCOMPARE(work.length_spread, 1.5);
    choose(fixture, "bench.length_distribution", "uniform");
    QCOMPARE(spread->value(), 100);
    QVERIFY(spread->text().contains(QString("±")));
  }
};

LATHE_WINDOW_TEST(BenchSaturationTest)

}  // namespace bench_saturation_test
#include "bench_saturation_test.moc"
