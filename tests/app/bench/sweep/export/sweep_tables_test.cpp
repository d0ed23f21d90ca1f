// SPDX-License-Identifier: Apache-2.0
// A sweep as CSV, as a Markdown table, and as JSON.
#include <QTest>
#include <cmath>

#include "app/api/sweep_export.h"
#include "tests/support/sweep_results.h"
#include "tests/support/test_class.h"

namespace sweep_tables_test {

using namespace lathe;
using namespace lathe::app;
using tests::cell_with_rates;
using tests::plan_of_two;

class SweepTablesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void columns_have_names_of_their_own() {
    const QString csv = QString::fromStdString(to_csv(plan_of_two(), {}));
    const QStringList names = csv.section("\r\n", 0, 0).split(',');
    QCOMPARE(QSet<QString>(names.begin(), names.end()).size(), names.size());
    QVERIFY(names.contains("perplexity_ci95"));
  }

  /// Means of 4 digits, intervals of 2, and no exponent for what is merely large.
  void numbers_of_tables_are_for_people() {
    SweepReport report;
    report.cells[0] = cell_with_rates({2000, 2100});
    report.cells[1] = cell_with_rates({0.01234567, 0.01234567});
    const QString markdown = QString::fromStdString(to_markdown(plan_of_two(), report));
    QVERIFY2(markdown.contains("| 2050 ± 635 |"), qPrintable(markdown));
    QVERIFY2(markdown.contains("| 0.01235 ± 0 |"), qPrintable(markdown));
    report.cells[0] = cell_with_rates({12345678});
    QVERIFY(QString::fromStdString(to_markdown(plan_of_two(), report)).contains("| 12345678 |"));
  }

  void a_single_run_has_no_interval() {
    SweepReport report;
    report.cells[0] = cell_with_rates({100});
    report.cells[1] = cell_with_rates({100, 102});
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

  void tables_hold_every_cell_and_escape_what_they_must() {
    const SweepPlan plan = plan_of_two();
    SweepReport report;
    report.cells[0] = cell_with_rates({100, 102});
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

  void checksums_are_written_in_full() {
    const std::size_t answers = metric_index("answers");
    SweepReport report;
    report.cells[0] = cell_with_rates({1, 1, 1});
    report.cells[1] = cell_with_rates({1, 1, 1});
    for (std::vector<double>& sample : report.cells[0].samples) sample[answers] = 9007199254740991;
    report.cells[1].samples[0][answers] = 9007199254740990;
    report.cells[1].samples[1][answers] = 7;
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
};

LATHE_TEST(SweepTablesTest)

}  // namespace sweep_tables_test
#include "sweep_tables_test.moc"
