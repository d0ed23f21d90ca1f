// SPDX-License-Identifier: GPL-3.0-or-later
// Tests of the pens and ticks that live charts and charts of sweeps share.
#include <QTest>

#include "tests/support/test_class.h"
#include "ui/widgets/chart_style.h"

namespace chart_style_test {

using namespace lathe::ui;

class ChartStyleTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void steps_are_round_and_few() {
    QCOMPARE(round_step(1000, 3), 500.0);
    QCOMPARE(round_step(0.07, 3), 0.05);
    QCOMPARE(round_step(6, 3), 2.0);
    QCOMPARE(round_step(0, 3), 1.0);
    for (const double top : {0.003, 1.0, 17.0, 99.0, 12345.0}) QVERIFY(top / round_step(top, 5) <= 5 + 1e-6);
  }

  void numbers_have_the_decimals_of_their_step() {
    QCOMPARE(axis_number(0.25, 0.05), QString("0.25"));
    QCOMPARE(axis_number(2000, 500), QString("2,000"));
  }

  /// A pen multiplies its pattern by its width: what is seen is the same for both widths.
  void dashes_are_in_pixels() {
    QCOMPARE(line_pen(Qt::red, 0).style(), Qt::SolidLine);
    const QPen second = line_pen(Qt::red, 1), seventh = line_pen(Qt::red, 7);
    QVERIFY(std::abs(second.dashPattern()[0] * second.widthF() - 6) < 1e-9);
    QVERIFY(std::abs(second.dashPattern()[1] * second.widthF() - 3) < 1e-9);
    QCOMPARE(seventh.dashPattern(), second.dashPattern());
    QVERIFY(line_pen(Qt::red, 2).dashPattern() != second.dashPattern());
  }
};

LATHE_WINDOW_TEST(ChartStyleTest)

}  // namespace chart_style_test
#include "chart_style_test.moc"
