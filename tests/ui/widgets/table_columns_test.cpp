// SPDX-License-Identifier: GPL-3.0-or-later
// Columns of numbers: each is as wide as its widest cell, and what is painted in one never reaches into the next.
#include "ui/widgets/table_columns.h"

#include <QHeaderView>
#include <QStandardItemModel>
#include <QTemporaryDir>
#include <QTest>

#include "tests/support/test_class.h"
#include "ui/panels/bench/results/results_table.h"
#include "ui/widgets/table_delegate.h"

namespace table_columns_test {

using namespace lathe;
using namespace lathe::ui;

namespace {

/// A sweep of two cells whose numbers are as long as they come.
app::SweepStatus long_numbers(bool with_quality) {
  app::SweepStatus status;
  auto plan = std::make_shared<app::SweepPlan>();
  plan->variables = {{"quantization", {"bitsandbytes_4bit", "none"}}, {"concurrency", {"1"}}};
  if (with_quality) plan->quality_dataset = "stories.json";
  plan->repeats = 2;
  auto report = std::make_shared<app::SweepReport>();
  for (std::size_t cell = 0; cell < 2; ++cell) {
    for (const double factor : {1.0, 1.3})
      report->cells[cell].samples.emplace_back(app::sweep_metrics().size(), 123'456.7 * factor);
  }
  status.plan = plan;
  status.report = report;
  status.state = app::SweepState::done;
  return status;
}

/// Columns of pixels of a row of cells in which anything is painted.
QList<bool> ink_of(QTableView& table, int row, const QColor& ground) {
  const QRect line(0, table.rowViewportPosition(row) + 2, table.viewport()->width(), table.rowHeight(row) - 5);
  const QImage image = table.viewport()->grab(line).toImage();
  QList<bool> ink;
  for (int x = 0; x < image.width(); ++x) {
    bool any = false;
    for (int y = 0; y < image.height() && !any; ++y) any = image.pixelColor(x, y) != ground;
    ink << any;
  }
  return ink;
}

}  // namespace

class TableColumnsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void numbers_never_run_into_each_other_data() {
    QTest::addColumn<bool>("with_quality");
    QTest::addColumn<int>("width");
    for (const int width : {600, 1060, 2000}) {
      QTest::addRow("speed, %d px", width) << false << width;
      QTest::addRow("quality, %d px", width) << true << width;
    }
  }

  void numbers_never_run_into_each_other() {
    QFETCH(bool, with_quality);
    QFETCH(int, width);
    const Theme theme;
    const QTemporaryDir folder;
    UiState state(folder.path().toStdString());
    ResultsTable results(theme, state, nullptr);
    results.resize(width, 300);
    results.show();
    results.show_sweep(long_numbers(with_quality));
    auto* table = results.findChild<QTableView*>("bench.table");
    const auto* delegate = static_cast<const TableDelegate*>(table->itemDelegate());
    table->horizontalHeader()->setStretchLastSection(false);
    table->resize(4000, 200);  // all of it in the picture
    const QList<bool> ink = ink_of(*table, 0, theme.tokens().page);
    for (int column = 0; column < table->model()->columnCount(); ++column) {
      const QModelIndex index = table->model()->index(0, column);
      QVERIFY2(table->columnWidth(column) >= delegate->width_for(index), qPrintable(index.data().toString()));
      if (column == 0) continue;
      const int edge = table->columnViewportPosition(column);
      for (int x = edge - 3; x < edge + 3; ++x)
        QVERIFY2(!ink[x], qPrintable(QString("column %1, pixel %2").arg(column).arg(x - edge)));
    }
  }

  void there_is_ink_to_look_at() {
    const Theme theme;
    const QTemporaryDir folder;
    UiState state(folder.path().toStdString());
    ResultsTable results(theme, state, nullptr);
    results.resize(1060, 300);
    results.show();
    results.show_sweep(long_numbers(false));
    auto* table = results.findChild<QTableView*>("bench.table");
    QVERIFY(ink_of(*table, 0, theme.tokens().page).count(true) > 200);
    // The text of a column that somebody made too narrow stays in that column.
    const int column = 2;
    table->setColumnWidth(column, 40);
    const QList<bool> ink = ink_of(*table, 0, theme.tokens().page);
    const int edge = table->columnViewportPosition(column);
    for (int x = edge - 3; x < edge; ++x) QVERIFY(!ink[x]);
  }

  void columns_are_wider_where_there_is_room() {
    const Theme theme;
    QStandardItemModel model(1, 2);
    model.setHorizontalHeaderLabels({"A", "B"});
    model.setItem(0, 0, new QStandardItem("1"));
    model.setItem(0, 1, new QStandardItem("a value that is much longer than its heading"));
    QTableView table;
    shape_table(table, theme);
    table.setModel(&model);
    table.setItemDelegate(new TableDelegate(theme, &table));
    table.resize(1000, 100);
    table.show();
    fit_columns(table, {200, 20});
    QCOMPARE(table.columnWidth(0), 200);
    const int needed = table.columnWidth(1);
    QVERIFY(needed > 200);
    table.resize(needed + 100, 100);
    fit_columns(table, {200, 20});
    QVERIFY(table.columnWidth(0) < 200);
    QCOMPARE(table.columnWidth(1), needed);
  }
};

LATHE_WINDOW_TEST(TableColumnsTest)

}  // namespace table_columns_test
#include "table_columns_test.moc"
