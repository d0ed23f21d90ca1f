// SPDX-License-Identifier: GPL-3.0-or-later
// The Bench page: a plan, a sweep over a fake engine, its results, and how it is stopped, gone on with and opened again.
#include <QClipboard>
#include <QComboBox>
#include <QDirIterator>
#include <QFile>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>

#include "app/api/sweep_export.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/ui/bench_fixture.h"
#include "ui/panels/bench/charts/sweep_chart.h"
#include "ui/panels/bench/history/history_view.h"
#include "ui/panels/bench/plan/variable_cards.h"
#include "ui/panels/bench/results/sweep_exporter.h"
#include "ui/panels/bench/results/sweep_header.h"
#include "ui/widgets/inline_message.h"
#include "ui/widgets/segmented.h"

namespace bench_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

/// Runs a sweep in a window of its own. Returns the path of its journal; empty when it did not end.
QString journal_of_a_sweep(const QString& profile) {
  {
    BenchFixture fixture({}, profile);
    fixture.values_of("concurrency")->setText("1, 3");
    fixture.click("bench.start");
    if (!fixture.wait_for(app::SweepState::done)) return {};
  }
  QDirIterator journals(profile, {"*.jsonl"}, QDir::Files, QDirIterator::Subdirectories);
  return journals.hasNext() ? journals.next() : QString();
}

}  // namespace

class BenchTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void without_a_model_it_says_what_to_do();
  void a_sweep_is_measured_and_shown();
  void values_that_cannot_be_read_are_told_at_their_place();
  void a_fourth_variable_is_not_offered();
  void a_cell_that_fails_shows_why();
  void a_sweep_is_paused_stopped_and_gone_on_with();
  void a_baseline_gives_differences_and_verdicts();
  void a_baseline_without_a_result_gives_no_verdict();
  void a_kept_sweep_is_opened_by_the_next_window();
  void a_sweep_that_was_cut_off_is_offered_to_the_next_window();
  void quality_is_measured_on_a_text();
  void a_file_that_is_missing_is_told_before_the_start();
  void rules_end_a_run();
  void points_of_the_pareto_chart_are_named();
  void conversations_have_turns();
  void a_machine_that_disturbs_is_told_in_the_head();
  void a_kept_sweep_of_quality_opens_with_its_price();
  void a_cell_is_reproduced_from_the_clipboard();
  void every_format_is_in_the_export_menu();
  void files_have_the_bytes_of_the_command_line();
  void templates_fill_the_plan();
};

void BenchTest::without_a_model_it_says_what_to_do() {
  WindowFixture fixture;
  fixture.window->context().load.forget();
  fixture.trigger("layout.benchmark");
  QVERIFY(!fixture.find<QPushButton>("bench.start")->isEnabled());
  QVERIFY(fixture.find<QLabel>("bench.cost")->text().contains("Choose a model"));
  QVERIFY(fixture.find<QWidget>("bench.empty")->isVisible());
}

void BenchTest::a_sweep_is_measured_and_shown() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.vary("block_size", "8, 16, 32");
  QVERIFY(fixture.text("bench.cost").contains("6 cells × 2 repeats"));
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(fixture.table()->model()->rowCount(), 6);
  QCOMPARE(fixture.text("bench.cells.count"), QString("6 of 6"));
  QCOMPARE(fixture.text("bench.header.title"), QString("6 of 6 cells"));
  QVERIFY(fixture.find<QWidget>("bench.heat")->isVisible());
  auto* const chart = fixture.window->findChild<ui::SweepChart*>();
  QCOMPARE(chart->n_points(), 6);
  // Names of the two lines stand beside each other, or below where there is no room.
  QCOMPARE(chart->n_legend_rows(), 1);
  const QWidget* const plot = chart->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly).front();
  const int plot_top = plot->y();
  chart->resize(60, 300);
  QCOMPARE(chart->n_legend_rows(), 2);
  QCOMPARE(plot->y(), 2 * plot_top);
  QVERIFY(fixture.find<QPushButton>("bench.start")->isVisible() && fixture.find<QPushButton>("bench.start")->isEnabled());
  // Room for what a cell sends at a time.
  QVERIFY(fixture.workbench->sweeper().status().plan->options.max_num_seqs >= 2);
}

void BenchTest::values_that_cannot_be_read_are_told_at_their_place() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1:8:");
  QVERIFY(fixture.find<QLabel>("bench.variable.concurrency.problem")->isVisible());
  QVERIFY(!fixture.find<QPushButton>("bench.start")->isEnabled());
  fixture.values_of("concurrency")->setText("1:8:*2");
  QVERIFY(!fixture.find<QLabel>("bench.variable.concurrency.problem")->isVisible());
  QCOMPARE(fixture.text("bench.variable.concurrency.count"), QString("4"));
  QVERIFY(fixture.find<QPushButton>("bench.start")->isEnabled());
}

void BenchTest::a_fourth_variable_is_not_offered() {
  BenchFixture fixture;
  fixture.vary("block_size", "8");
  QVERIFY(fixture.find<QPushButton>("bench.variables.add")->isEnabled());
  fixture.vary("prompt_tokens", "8");
  QVERIFY(!fixture.find<QPushButton>("bench.variables.add")->isEnabled());
  QVERIFY(!fixture.find<QSpinBox>("bench.prompt_tokens")->isEnabled());
  fixture.click("bench.variable.prompt_tokens.remove");
  QVERIFY(fixture.find<QPushButton>("bench.variables.add")->isEnabled());
  QVERIFY(fixture.find<QSpinBox>("bench.prompt_tokens")->isEnabled());
}

void BenchTest::a_cell_that_fails_shows_why() {
  FakeLoad load;
  load.refuse = [](const engine::EngineOptions& options) -> std::optional<engine::Error> {
    if (options.block_size != 32) return {};
    return engine::Error{engine::ErrorCode::resource_exhausted, "needs 9 GiB, 2 GiB are free", "memory"};
  };
  BenchFixture fixture(std::move(load));
  fixture.values_of("concurrency")->setText("1");
  fixture.vary("block_size", "16, 32");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QVERIFY(fixture.text("bench.header.failed").contains("1 failed: "));
  QVERIFY(fixture.text("bench.header.failed").contains("needs 9 GiB"));
  QCOMPARE(fixture.cell(1, 2), QString("failed"));
  QVERIFY(fixture.cell(0, 2).toDouble() > 0 || fixture.cell(0, 2).contains(','));
  QVERIFY(fixture.find<QPushButton>("bench.resume")->isVisible());
}

void BenchTest::a_sweep_is_paused_stopped_and_gone_on_with() {
  FakeLoad load;
  load.loaded = [](FakeEngine& engine) { engine.set_token_delay(std::chrono::milliseconds(5)); };
  BenchFixture fixture(std::move(load));
  fixture.values_of("concurrency")->setText("1, 2, 3, 4");
  fixture.click("bench.start");
  fixture.window->bridge().refresh();
  QVERIFY(fixture.find<QPushButton>("bench.pause")->isVisible());
  QVERIFY(!fixture.find<QPushButton>("bench.start")->isVisible());
  fixture.click("bench.pause");
  QVERIFY(fixture.wait_for(app::SweepState::paused));
  QCOMPARE(fixture.find<QPushButton>("bench.pause")->text(), QString("Resume"));
  QVERIFY(!fixture.find<QPushButton>("bench.new")->isEnabled());
  fixture.click("bench.stop");
  fixture.workbench->sweeper().skip_cell();  // does not take the stop back
  QVERIFY(fixture.wait_for(app::SweepState::stopped));
  const auto kept = fixture.workbench->sweeper().status().report->cells;
  QVERIFY(kept.size() < 4);
  fixture.click("bench.resume");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  QCOMPARE(fixture.table()->model()->rowCount(), 4);
  for (const auto& [index, cell] : kept) {
    QVERIFY(fixture.workbench->sweeper().status().report->cells.at(index).samples.size() >= cell.samples.size());
  }
}

void BenchTest::a_baseline_gives_differences_and_verdicts() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  const int before = fixture.table()->model()->columnCount();
  auto* baseline = fixture.find<QComboBox>("bench.baseline");
  baseline->setCurrentIndex(baseline->findText("Baseline: concurrency 1"));
  Q_EMIT baseline->activated(baseline->currentIndex());
  QCOMPARE(fixture.table()->model()->columnCount(), before + 2);
  QCOMPARE(fixture.cell(0, 3), QString("Baseline"));
  QVERIFY(QStringList({"Better", "Worse", "Noise"}).contains(fixture.cell(1, 3)));
  QVERIFY(fixture.cell(1, 2).endsWith('%'));
}

void BenchTest::a_baseline_without_a_result_gives_no_verdict() {
  FakeLoad load;
  load.refuse = [](const engine::EngineOptions& options) -> std::optional<engine::Error> {
    if (options.block_size != 16) return {};
    return engine::Error{engine::ErrorCode::resource_exhausted, "no room", "memory"};
  };
  BenchFixture fixture(std::move(load));
  fixture.click("bench.variable.concurrency.remove");
  fixture.vary("block_size", "16, 32");
  fixture.vary("concurrency", "2, 1");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  auto* baseline = fixture.find<QComboBox>("bench.baseline");
  baseline->setCurrentIndex(baseline->findText("Baseline: block size 16"));
  Q_EMIT baseline->activated(baseline->currentIndex());
  constexpr int kVerdict = 4;  // behind two variables, the metric and its difference
  QCOMPARE(fixture.cell(0, kVerdict), QString("Baseline"));
  QCOMPARE(fixture.cell(2, kVerdict), QString());
  // Sorted by the second variable, in the order of its values; the first one's order stays within.
  fixture.table()->sortByColumn(1, Qt::AscendingOrder);
  QStringList order;
  for (int row = 0; row < 4; ++row) order << fixture.cell(row, 0) + "/" + fixture.cell(row, 1);
  QCOMPARE(order, QStringList({"16/2", "32/2", "16/1", "32/1"}));
}

void BenchTest::a_kept_sweep_is_opened_by_the_next_window() {
  QTemporaryDir profile;
  {
    BenchFixture first({}, profile.path());
    first.values_of("concurrency")->setText("1, 3");
    first.click("bench.start");
    QVERIFY(first.wait_for(app::SweepState::done));
  }
  BenchFixture second({}, profile.path());
  QVERIFY(second.find<QWidget>("bench.empty")->isVisible());
  auto* plans = second.find<QMenu>("bench.plans");
  QAction* kept = nullptr;
  QVERIFY(QTest::qWaitFor(
      [&] {
        Q_EMIT plans->aboutToShow();
        for (QAction* action : plans->actions()) {
          if (action->text().contains("2 of 2 cells")) kept = action;
        }
        return kept != nullptr;
      },
      kPatienceMs));
  kept->trigger();
  QCOMPARE(second.state(), app::SweepState::done);
  QCOMPARE(second.table()->model()->rowCount(), 2);
  QCOMPARE(second.values_of("concurrency")->text(), QString("1, 3"));
  second.click("bench.new");
  QVERIFY(second.find<QWidget>("bench.empty")->isVisible());
}

/// As after a power cut: of the journal's runs the last one never came.
void BenchTest::a_sweep_that_was_cut_off_is_offered_to_the_next_window() {
  QTemporaryDir profile;
  QFile journal(journal_of_a_sweep(profile.path()));
  QVERIFY(journal.open(QIODevice::ReadWrite));
  const QByteArray whole = journal.readAll();
  QVERIFY(journal.resize(whole.lastIndexOf('\n', -2) + 1));
  journal.close();
  BenchFixture second({}, profile.path());
  auto* offer = second.find<QPushButton>("bench.unfinished");
  QTRY_VERIFY(offer->isVisible());
  QVERIFY2(offer->text().contains("1 of 2 cells"), qPrintable(offer->text()));
  second.click("bench.unfinished");
  QCOMPARE(second.state(), app::SweepState::stopped);
  second.click("bench.resume");
  QVERIFY(second.wait_for(app::SweepState::done));
  QCOMPARE(second.table()->model()->rowCount(), 2);
  second.click("bench.new");
  QTRY_VERIFY(second.find<QWidget>("bench.empty")->isVisible());
  QTRY_VERIFY(!offer->isVisible());
}

void BenchTest::quality_is_measured_on_a_text() {
  BenchFixture fixture;
  const QTemporaryDir folder;
  const QString path = folder.filePath("stories.txt");
  tests::write_file(path.toStdString(), "Once upon a time.\n");
  auto* text = fixture.find<QLineEdit>("bench.quality");
  auto* special = fixture.find<QAbstractButton>("bench.parse_special");
  QVERIFY(!special->isVisibleTo(fixture.window.get()));  // without a text it says nothing
  text->setText(" " + path + " ");
  QVERIFY(special->isVisibleTo(fixture.window.get()));
  special->click();
  auto* target = fixture.find<ui::Segmented>("bench.target.choice");
  QVERIFY(text->isVisibleTo(fixture.window.get()));
  target->set_current(1);
  Q_EMIT target->chosen(1);
  QVERIFY(!text->isVisibleTo(fixture.window.get()) && !special->isVisibleTo(fixture.window.get()));
  target->set_current(0);
  Q_EMIT target->chosen(0);
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  const app::SweepStatus status = fixture.workbench->sweeper().status();
  QCOMPARE(status.plan->quality_dataset, path.toStdString());
  QVERIFY(status.plan->parse_special);
  // The model that is compared is no fake, and is not there.
  for (const auto& [index, cell] : status.report->cells) QVERIFY(cell.error.find("fake-model") != cell.error.npos);
  QCOMPARE(fixture.find<QComboBox>("bench.chart.over")->currentData().toInt(), int(app::metric_index("output_tok_s")));
}

/// One message before anything is loaded, in place of a failure in every cell.
void BenchTest::a_file_that_is_missing_is_told_before_the_start() {
  for (const char* field : {"bench.quality", "bench.dataset"}) {
    BenchFixture fixture;
    fixture.find<QLineEdit>(field)->setText("/nowhere/stories.json");
    fixture.click("bench.start");
    QCOMPARE(fixture.state(), app::SweepState::none);
    auto* message = fixture.find<ui::InlineMessage>("bench.message");
    QVERIFY(message->isVisible());
    QVERIFY2(message->numbers().contains("/nowhere/stories.json"), qPrintable(message->numbers()));
  }
}

void BenchTest::rules_end_a_run() {
  BenchFixture fixture;
  auto* seconds = fixture.find<QDoubleSpinBox>("bench.max_seconds");
  auto* waiting = fixture.find<QSpinBox>("bench.max_waiting");
  QVERIFY(seconds->isVisibleTo(fixture.window.get()) && !waiting->isVisibleTo(fixture.window.get()));
  QCOMPARE(seconds->text(), QString("never"));
  auto* load = fixture.find<QComboBox>("bench.load");
  load->setCurrentIndex(load->findData("poisson"));
  QVERIFY(waiting->isVisibleTo(fixture.window.get()));
  seconds->setValue(0.25);
  waiting->setValue(3);
  QVERIFY2(fixture.text("bench.cost").contains("concurrency"), qPrintable(fixture.text("bench.cost")));  // has no effect
  fixture.click("bench.variable.concurrency.remove");
  fixture.vary("rate", "50, 100");
  fixture.click("bench.start");
  QVERIFY(fixture.state() != app::SweepState::none);
  const app::SweepStatus status = fixture.workbench->sweeper().status();
  QCOMPARE(status.plan->workload.max_seconds, 0.25);
  QCOMPARE(status.plan->workload.max_waiting, std::int64_t{3});
  QVERIFY(fixture.wait_for(app::SweepState::done));
}

void BenchTest::points_of_the_pareto_chart_are_named() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1, 3");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  auto* chart = fixture.find<ui::SweepChart>("bench.chart");
  QVERIFY(chart->point_names().isEmpty());
  auto* over = fixture.find<QComboBox>("bench.chart.over");
  over->setCurrentIndex(over->findData(int(app::metric_index("ttft_ms_p99"))));
  Q_EMIT over->activated(over->currentIndex());
  // Where two points lie on each other one name is left out.
  QTRY_VERIFY(chart->point_names().contains("concurrency 1") || chart->point_names().contains("concurrency 3"));
}

void BenchTest::conversations_have_turns() {
  BenchFixture fixture;
  auto* turns = fixture.find<QSpinBox>("bench.turns");
  auto* tokens = fixture.find<QSpinBox>("bench.turn_tokens");
  QVERIFY(turns->isVisibleTo(fixture.window.get()) && !tokens->isVisibleTo(fixture.window.get()));
  turns->setValue(3);
  QVERIFY(tokens->isVisibleTo(fixture.window.get()));
  tokens->setValue(2);
  fixture.find<QSpinBox>("bench.requests")->setValue(2);
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  const app::SweepStatus status = fixture.workbench->sweeper().status();
  QCOMPARE(status.plan->workload.turns, std::int64_t{3});
  QCOMPARE(status.plan->workload.turn_tokens, std::int64_t{2});
  for (const auto& [index, cell] : status.report->cells) QVERIFY2(cell.error.empty(), cell.error.c_str());
  auto* load = fixture.find<QComboBox>("bench.load");
  load->setCurrentIndex(load->findData("replay"));
  QVERIFY(!turns->isVisibleTo(fixture.window.get()));  // a trace says which requests there are
}

void BenchTest::a_machine_that_disturbs_is_told_in_the_head() {
  BenchFixture fixture;
  app::SweepReport report;
  const app::SweepPlan plan;
  const auto show = [&] {
    app::SweepStatus status;
    status.state = app::SweepState::done;
    status.plan = std::make_shared<app::SweepPlan>(plan);
    status.report = std::make_shared<app::SweepReport>(report);
    fixture.find<ui::SweepHeader>("bench.header")->show_sweep(status);
  };
  show();
  auto* line = fixture.find<QLabel>("bench.header.warnings");
  QVERIFY(line->isHidden());
  report.cells[0].warnings = {{"other_load", 0.25}};
  show();
  QVERIFY(!line->isHidden());
  QVERIFY2(line->text().contains("other programs took 25 % of the processors"), qPrintable(line->text()));
}

/// A journal whose runs have a divergence, as a sweep on a text leaves it.
void BenchTest::a_kept_sweep_of_quality_opens_with_its_price() {
  QTemporaryDir profile;
  QFile journal(journal_of_a_sweep(profile.path()));
  QVERIFY(journal.open(QIODevice::ReadOnly));
  QByteArray changed;
  for (const QByteArray& line : journal.readAll().split('\n')) {
    if (line.isEmpty()) continue;
    auto json = engine::OrderedJson::parse(line.toStdString());
    if (json.contains("plan")) json["plan"]["quality_dataset"] = "/nowhere/stories.json";
    if (json.contains("sample")) json["sample"][app::metric_index("kl_mean")] = 0.1 * (1 + json["cell"].get<int>());
    changed += QByteArray::fromStdString(json.dump()) + '\n';
  }
  journal.close();
  QVERIFY(journal.open(QIODevice::WriteOnly | QIODevice::Truncate) && journal.write(changed) == changed.size());
  journal.close();
  BenchFixture second({}, profile.path());
  QCOMPARE(second.workbench->sweeper().kept().size(), std::size_t{1});
  Q_EMIT second.window->findChild<ui::HistoryView*>()->open_wanted(journal.fileName());
  auto* chart = second.find<ui::SweepChart>("bench.chart");
  QCOMPARE(second.find<QComboBox>("bench.chart.metric")->currentData().toInt(), int(app::metric_index("kl_mean")));
  QTRY_VERIFY(!chart->point_names().isEmpty());  // points, not lines
}

void BenchTest::a_cell_is_reproduced_from_the_clipboard() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  fixture.table()->selectRow(1);
  const QList<QAction*> ways = fixture.find<QPushButton>("bench.reproduce")->menu()->actions();
  ways[0]->trigger();
  const QString command = QGuiApplication::clipboard()->text();
  QVERIFY2(command.startsWith("lathe sweep --model '/nowhere/fake-model' --var 'concurrency=2'"), qPrintable(command));
  ways[1]->trigger();
  const auto json = engine::parse_json(QGuiApplication::clipboard()->text().toStdString(), "clipboard");
  QVERIFY(json.has_value());
  QVERIFY(app::sweep_plan_from(*json).has_value());
}

void BenchTest::every_format_is_in_the_export_menu() {
  BenchFixture fixture;
  QStringList titles, expected;
  for (const QAction* action : fixture.find<QPushButton>("bench.export")->menu()->actions()) titles << action->text();
  for (const app::ExportFormat* format : app::export_formats())
    expected << QString::fromUtf8(format->title.data(), static_cast<qsizetype>(format->title.size())) + "…";
  QCOMPARE(titles, expected);
}

/// The command line prints or writes what ExportFormat::write returns.
void BenchTest::files_have_the_bytes_of_the_command_line() {
  BenchFixture fixture;
  fixture.values_of("concurrency")->setText("1, 2");
  fixture.click("bench.start");
  QVERIFY(fixture.wait_for(app::SweepState::done));
  const app::SweepStatus status = fixture.workbench->sweeper().status();
  auto* exporter = fixture.window->findChild<ui::SweepExporter*>();
  const QTemporaryDir folder;
  for (const app::ExportFormat* format : app::export_formats()) {
    QFile file(folder.filePath(QString::fromUtf8(format->ending.data())));
    exporter->write(*format, file.fileName());
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll().toStdString(), format->write(*status.plan, *status.report, app::usual_chart(*status.plan)));
    QVERIFY(fixture.text("bench.cells.said").contains(file.fileName()));
  }
}

void BenchTest::templates_fill_the_plan() {
  BenchFixture fixture;
  fixture.click("bench.template.kv-block-size");
  QCOMPARE(fixture.values_of("block_size")->text(), QString("8, 16, 32, 64"));
  QCOMPARE(fixture.find<QPushButton>("bench.title")->text(), QString("KV block size"));
  QVERIFY(fixture.text("bench.cost").contains("12 cells × 3 repeats"));
}

LATHE_WINDOW_TEST(BenchTest)

}  // namespace bench_test
#include "bench_test.moc"
