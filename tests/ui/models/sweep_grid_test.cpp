// SPDX-License-Identifier: GPL-3.0-or-later
// The cells of a sweep in rows and columns, whichever variable lies across.
#include <QTest>

#include "tests/support/test_class.h"
#include "ui/models/sweep_grid.h"
#include "ui/models/sweep_text.h"

namespace sweep_grid_test {

using namespace lathe;

namespace {

app::SweepPlan plan_of_three() {
  app::SweepPlan plan;
  plan.variables = {{"concurrency", {"1", "4"}}, {"policy", {"paged", "static", "dynamic"}}, {"block_size", {"8", "16"}}};
  return plan;
}

}  // namespace

class SweepGridTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cells_have_the_values_of_their_row_and_column();
  void a_number_never_stands_alone();
};

void SweepGridTest::cells_have_the_values_of_their_row_and_column() {
  const app::SweepPlan plan = plan_of_three();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const ui::SweepGrid grid = ui::grid_of(plan, axis);
    QCOMPARE(grid.rows.size() * grid.columns.size(), qsizetype{12});
    for (int row = 0; row < grid.rows.size(); ++row) {
      for (int column = 0; column < grid.columns.size(); ++column) {
        QStringList others;
        const auto values = app::values_of(plan, grid.cell(row, column));
        for (std::size_t i = 0; i < 3; ++i)
          if (i != axis) others << ui::value_text(values[i].first, values[i].second);
        QCOMPARE(grid.rows[row], others.join(", "));
        QCOMPARE(grid.columns[column], QString::fromStdString(values[axis].second));
      }
    }
  }
  QCOMPARE(ui::grid_of(plan, 0).rows.front(), QString("paged, block size 8"));
  QCOMPARE(ui::grid_of(app::SweepPlan{}).cell(0, 0), std::size_t{0});
}

void SweepGridTest::a_number_never_stands_alone() {
  QCOMPARE(ui::value_text("concurrency", "4"), QString("concurrency 4"));
  QCOMPARE(ui::value_text("length_spread", "0.5"), QString("length spread 0.5"));
  QCOMPARE(ui::value_text("enable_prefix_caching", "true"), QString("enable prefix caching true"));
  QCOMPARE(ui::value_text("policy", "static"), QString("static"));
  QCOMPARE(ui::value_text("quantization", "none"), QString("none"));
}

LATHE_WINDOW_TEST(SweepGridTest)

}  // namespace sweep_grid_test
#include "sweep_grid_test.moc"
