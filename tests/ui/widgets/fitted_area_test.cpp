// SPDX-License-Identifier: GPL-3.0-or-later
// An area gives its widget the whole place, and scrolls only below the widget's minimum.
#include "ui/widgets/fitted_area.h"

#include <QLabel>
#include <QScrollBar>
#include <QTest>
#include <QTextEdit>
#include <QVBoxLayout>

#include "tests/support/test_class.h"

namespace fitted_area_test {

class FittedAreaTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void contents_fill_the_area_until_they_are_too_small() {
    QWidget window;
    auto* contents = new QWidget;
    auto* column = new QVBoxLayout(contents);
    auto* text = new QTextEdit;
    text->setMinimumHeight(50);
    column->addWidget(text, 1);
    auto* words = new QLabel(QStringLiteral("word ").repeated(60));
    words->setWordWrap(true);
    column->addWidget(words);
    auto* row = new QVBoxLayout(&window);
    row->setContentsMargins(0, 0, 0, 0);
    auto* area = new lathe::ui::FittedArea(contents, &window);
    row->addWidget(area);
    window.resize(500, 400);
    window.show();
    QTRY_COMPARE(contents->size(), area->viewport()->size());
    // The wrapped text prefers more height than this, but the minimum fits.
    const int least = contents->minimumSizeHint().height();
    window.resize(300, least + 10);
    QTRY_COMPARE(contents->size(), area->viewport()->size());
    QVERIFY(!area->verticalScrollBar()->isVisible());
    text->setMinimumHeight(300);
    QTRY_VERIFY(area->verticalScrollBar()->isVisible());
    QVERIFY(contents->height() >= contents->minimumSizeHint().height());
  }
};

LATHE_WINDOW_TEST(FittedAreaTest)

}  // namespace fitted_area_test
#include "fitted_area_test.moc"
