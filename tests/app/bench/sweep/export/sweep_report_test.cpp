// SPDX-License-Identifier: Apache-2.0
// Tests of a sweep's results: verdicts, early ends, tables, and how a cell is measured again.
#include "app/api/sweep_report.h"

#include <QTest>
#include <cmath>

using namespace lathe;
using namespace lathe::app;

namespace {

/// A cell whose first metric (output_tok_s) has these samples; all others are 1.
CellResult cell_of(std::vector<double> rates) {
  CellResult cell;
  for (const double rate : rates) {
    cell.samples.emplace_back(sweep_metrics().size(), 1.0);
    cell.samples.back()[metric_index("output_tok_s")] = rate;
    cell.samples.back()[metric_index("ttft_ms_p50")] = rate;
  }
  return cell;
}

SweepPlan plan_of_two() {
  SweepPlan plan;
  plan.options.model = "a model's folder";
  plan.sampling.temperature = 0;
  plan.variables = {{"concurrency", {"1", "2"}}, {"load", {"concurrency", "a|b"}}};
  return plan;
}

}  // namespace

class SweepReportTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_verdict_needs_more_than_noise() {
    const std::size_t rate = metric_index("output_tok_s"), ttft = metric_index("ttft_ms_p50");
    const CellResult slow = cell_of({100, 101, 99}), fast = cell_of({120, 121, 119}), loud = cell_of({60, 160, 110});
    QCOMPARE(compare(fast, slow, rate), Verdict::better);
    QCOMPARE(compare(slow, fast, rate), Verdict::worse);
    QCOMPARE(compare(fast, slow, ttft), Verdict::worse);
    QCOMPARE(compare(loud, slow, rate), Verdict::noise);
    QCOMPARE(compare(slow, slow, rate), Verdict::noise);
    QCOMPARE(compare(cell_of({120}), slow, rate), Verdict::unknown);
    QCOMPARE(compare(CellResult{.samples = {}, .error = "x"}, slow, rate), Verdict::unknown);
  }

  /// Welch by hand: means 10 and 13, variances 1 and 1 of three runs: t = 3 / sqrt(2/3) = 3.674 with 4 degrees (2.776).
  void its_bounds_are_those_of_welch() {
    const std::size_t rate = metric_index("output_tok_s");
    QCOMPARE(compare(cell_of({12, 13, 14}), cell_of({9, 10, 11}), rate), Verdict::better);
    // Means 10 and 12.2: t = 2.694.
    QCOMPARE(compare(cell_of({11.2, 12.2, 13.2}), cell_of({9, 10, 11}), rate), Verdict::noise);
  }

  /// Perplexity is uncertain over its tokens, however often it was measured; a load that happened once tells of no spread.
  void what_was_measured_once_has_the_verdict_of_its_own_interval() {
    const auto cell_with = [](double perplexity, double half_width) {
      CellResult cell = cell_of({100, 101, 99});
      for (std::vector<double>& sample : cell.samples) sample[metric_index("load_s")] = std::nan("");
      cell.samples[0][metric_index("load_s")] = perplexity;
      for (std::size_t i = 0; i < 3; ++i) {
        cell.samples[i][metric_index("perplexity")] = i == 0 ? perplexity : std::nan("");
        cell.samples[i][metric_index("perplexity_ci95")] = i == 0 ? half_width : std::nan("");
      }
      return cell;
    };
    const std::size_t perplexity = metric_index("perplexity");
    QCOMPARE(compare(cell_with(26, 0.5), cell_with(25.5, 0.5), perplexity), Verdict::noise);  // 0.5 of 0.707
    QCOMPARE(compare(cell_with(26, 0.3), cell_with(25.5, 0.3), perplexity), Verdict::worse);  // 0.5 of 0.424
    QCOMPARE(compare(cell_with(9, 1), cell_with(1, 1), metric_index("load_s")), Verdict::unknown);
  }

  void columns_have_names_of_their_own() {
    const QString csv = QString::fromStdString(to_csv(plan_of_two(), {}));
    const QStringList names = csv.section("\r\n", 0, 0).split(',');
    QCOMPARE(QSet<QString>(names.begin(), names.end()).size(), names.size());
    QVERIFY(names.contains("perplexity_ci95"));
  }

  /// Means of 4 digits, intervals of 2, and no exponent for what is merely large.
  void numbers_of_tables_are_for_people() {
    SweepReport report;
    report.cells[0] = cell_of({2000, 2100});
    report.cells[1] = cell_of({0.01234567, 0.01234567});
    const QString markdown = QString::fromStdString(to_markdown(plan_of_two(), report));
    QVERIFY2(markdown.contains("| 2050 ± 635 |"), qPrintable(markdown));
    QVERIFY2(markdown.contains("| 0.01235 ± 0 |"), qPrintable(markdown));
    report.cells[0] = cell_of({12345678});
    QVERIFY(QString::fromStdString(to_markdown(plan_of_two(), report)).contains("| 12345678 |"));
  }

  void a_single_run_has_no_interval() {
    SweepReport report;
    report.cells[0] = cell_of({100});
    report.cells[1] = cell_of({100, 102});
    const SweepPlan plan = plan_of_two();
    const engine::OrderedJson cells = to_json(plan, report)["cells"];
    QVERIFY(cells[0]["metrics"]["output_tok_s"]["ci95"].is_null());
    QVERIFY(cells[1]["metrics"]["output_tok_s"]["ci95"].is_number());
    const QStringList lines = QString::fromStdString(to_csv(plan, report)).split("\r\n");
    const auto column = static_cast<int>(lines[0].split(',').indexOf("output_tok_s_ci95"));
    QCOMPARE(lines[1].split(',').at(column), QString());
    QVERIFY(lines[2].split(',').at(column).toDouble() > 0);
    const QString markdown = QString::fromStdString(to_markdown(plan, report));
    QVERIFY(markdown.contains("| 1 | concurrency | 100 | 100 |"));
    QVERIFY(markdown.contains("| 1 | a\\|b | 101 ± "));
  }

  void a_cell_ends_early_when_its_interval_is_narrow() {
    SweepPlan plan;
    plan.repeats = 10;
    QVERIFY(!cell_of({100, 100, 100}).is_done(plan));
    plan.stop_at_ci = 0.05;
    QVERIFY(cell_of({100, 100.5, 99.5}).is_done(plan));
    QVERIFY(!cell_of({100, 100}).is_done(plan));
    QVERIFY(!cell_of({100, 130, 70}).is_done(plan));
    plan.repeats = 2;
    QVERIFY(cell_of({1, 100}).is_done(plan));
  }

  void a_search_ends_early_when_its_rate_is_certain() {
    SweepPlan plan;
    plan.repeats = 10;
    plan.stop_at_ci = 0.05;
    plan.workload.load = "saturation";
    const auto with_rates = [](std::vector<double> tok_s, const std::vector<double>& max_rates) {
      CellResult cell = cell_of(std::move(tok_s));
      for (std::size_t i = 0; i < max_rates.size(); ++i) cell.samples[i][metric_index("max_rate")] = max_rates[i];
      return cell;
    };
    QVERIFY(!with_rates({100, 100.5, 99.5}, {4, 8, 6}).is_done(plan));
    QVERIFY(with_rates({100, 130, 70}, {4, 4.01, 3.99}).is_done(plan));
    // Another load of the same plan has none.
    const std::vector<double> none(3, std::nan(""));
    plan.variables = {{"load", {"concurrency", "saturation"}}};
    QVERIFY(with_rates({100, 100.5, 99.5}, none).is_done(plan));
    QVERIFY(!with_rates({100, 130, 70}, none).is_done(plan));
  }

  void tables_hold_every_cell_and_escape_what_they_must() {
    const SweepPlan plan = plan_of_two();
    SweepReport report;
    report.cells[0] = cell_of({100, 102});
    report.cells[3] = CellResult{.samples = {}, .error = "no | room,\nat all"};
    const QString markdown = QString::fromStdString(to_markdown(plan, report));
    const QStringList rows = markdown.split('\n', Qt::SkipEmptyParts);
    QCOMPARE(rows.size(), 4);
    QVERIFY(rows[2].startsWith("| 1 | concurrency | 101 ± "));
    QVERIFY(rows[3].startsWith("| 2 | a\\|b | failed: no \\| room, at all |"));
    const auto bars = [](QString row) { return row.remove("\\|").count('|'); };
    for (const QString& row : rows) QCOMPARE(bars(row), bars(rows[0]));
    QVERIFY(QString::fromStdString(to_csv(plan, report)).contains("\"no | room,\nat all\""));
  }

  /// 2^53 - 1 and its neighbour are one number with fewer than 16 digits.
  void checksums_are_exact_and_tell_runs_apart() {
    const std::size_t answers = metric_index("answers");
    SweepReport report;
    report.cells[0] = cell_of({1, 1, 1});
    report.cells[1] = cell_of({1, 1, 1});
    for (std::vector<double>& sample : report.cells[0].samples) sample[answers] = 9007199254740991;
    report.cells[1].samples[0][answers] = 9007199254740990;
    report.cells[1].samples[1][answers] = 7;
    QCOMPARE(report.cells[0].checksums_of(answers), std::string("9007199254740991"));
    QCOMPARE(report.cells[1].checksums_of(answers), std::string("9007199254740990 7 1"));
    QCOMPARE(CellResult().checksums_of(answers), std::string());
    const SweepPlan plan = plan_of_two();
    const QStringList lines = QString::fromStdString(to_csv(plan, report)).split("\r\n");
    const auto column = static_cast<int>(lines[0].split(',').indexOf("answers"));
    QCOMPARE(lines[1].split(',').at(column), QString("9007199254740991"));
    QCOMPARE(lines[2].split(',').at(column), QString("9007199254740990 7 1"));
    QVERIFY(!lines[0].contains("answers_ci95"));
    for (const QString& line : lines) QVERIFY(line.isEmpty() || line.count(',') == lines[0].count(','));
    const engine::OrderedJson json = to_json(plan, report)["cells"];
    QCOMPARE(json[1]["metrics"]["answers"].dump(),
             std::string(R"({"checksum":"9007199254740990 7 1","n":3,"samples":[9007199254740990,7,1]})"));
  }

  void a_cell_is_measured_again_by_its_plan_or_its_command() {
    SweepPlan plan = plan_of_two();
    plan.workload.prompt_tokens = 40;
    plan.options.block_size = 32;
    plan.goal.ttft_ms = 200;
    const auto again = sweep_plan_from(engine::Json::parse(cell_plan_json(plan, 2).dump()));
    QVERIFY(again.has_value());
    QCOMPARE(n_cells(*again), std::size_t{1});
    QVERIFY(values_of(*again, 0) == values_of(plan, 2));
    QCOMPARE(again->options.block_size, 32);
    QCOMPARE(
        QString::fromStdString(cell_command(plan, 2)),
        QString(
            "lathe sweep --model 'a model'\\''s folder' --var 'concurrency=2' --var 'load=concurrency' --prompt-tokens='40' "
            "--block-size='32' --repeats 3 --sweep-seed 1 --goal-ttft-ms 200"));
  }
};

QTEST_GUILESS_MAIN(SweepReportTest)
#include "sweep_report_test.moc"
