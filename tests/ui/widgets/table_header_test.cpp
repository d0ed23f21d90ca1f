// SPDX-License-Identifier: GPL-3.0-or-later
// Headings of tables: none is cut in the width that it asks for, and a narrower one ends in dots.
#include <QStandardItemModel>
#include <QTableView>
#include <QTest>

#include "tests/support/test_class.h"
#include "ui/widgets/table_delegate.h"
#include "ui/widgets/table_header.h"

namespace table_header_test {

using namespace lathe::ui;

namespace {

/// A table of two columns, words at the left and numbers at the right.
struct Table {
  Theme theme;
  QStandardItemModel model{1, 2};
  QTableView view;
  Table() {
    model.setHorizontalHeaderLabels({"Policy", "KV reserved %"});
    model.setHeaderData(1, Qt::Horizontal, int(Qt::AlignRight | Qt::AlignVCenter), Qt::TextAlignmentRole);
    view.setModel(&model);
    shape_table(view, theme);
    view.setSortingEnabled(true);
    view.resize(400, 100);
  }
  TableHeader& header() { return static_cast<TableHeader&>(*view.horizontalHeader()); }
  /// Columns of pixels, from the left of the section, that have anything but the ground; the line below is left out.
  QList<int> inked(int section) {
    const int from = header().sectionViewportPosition(section), width = header().sectionSize(section);
    const QImage image = header().grab(QRect(from, 0, width, header().height() - 2)).toImage();
    QList<int> columns;
    for (int x = 0; x < image.width(); ++x) {
      for (int y = 0; y < image.height(); ++y) {
        if (image.pixelColor(x, y) == theme.tokens().page) continue;
        columns << x;
        break;
      }
    }
    return columns;
  }
};

}  // namespace

class TableHeaderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void words_end_where_their_numbers_do() {
    Table table;
    table.header().resizeSection(1, 200);
    table.view.sortByColumn(0, Qt::AscendingOrder);
    const QList<int> ink = table.inked(1);
    QVERIFY(!ink.isEmpty());
    const int end = 200 - kDockMargin;
    QVERIFY2(ink.back() >= end - 4 && ink.back() <= end, qPrintable(QString::number(ink.back())));
  }

  void in_the_width_it_asks_for_nothing_is_cut() {
    Table table;
    table.view.sortByColumn(1, Qt::AscendingOrder);  // with a chevron
    table.header().resizeSection(1, 200);
    const QList<int> wide = table.inked(1);
    table.header().resizeSection(1, table.header().width_for(1));
    QCOMPARE(table.inked(1).size(), wide.size());
    QVERIFY(table.inked(1).front() > 0);
    table.header().resizeSection(1, table.header().width_for(1) - 8);  // dots
    QVERIFY(table.inked(1).size() < wide.size());
    QVERIFY(table.inked(1).front() > 0);
  }

  void a_chevron_shows_the_order() {
    Table table;
    table.header().resizeSection(1, 200);
    table.view.sortByColumn(0, Qt::AscendingOrder);
    const auto plain = table.inked(1).size();
    table.view.sortByColumn(1, Qt::AscendingOrder);
    QVERIFY(table.inked(1).size() > plain);
    const QImage up = table.header().grab().toImage();
    table.view.sortByColumn(1, Qt::DescendingOrder);
    QVERIFY(table.header().grab().toImage() != up);
  }

  void a_click_sorts() {
    Table table;
    table.view.sortByColumn(0, Qt::AscendingOrder);
    const int x = table.header().sectionViewportPosition(1) + 10;
    QTest::mouseClick(table.header().viewport(), Qt::LeftButton, {}, {x, 10});
    QCOMPARE(table.header().sortIndicatorSection(), 1);
  }
};

LATHE_WINDOW_TEST(TableHeaderTest)

}  // namespace table_header_test
#include "table_header_test.moc"
