// SPDX-License-Identifier: GPL-3.0-or-later
// A label that has too little room says so, keeps its words, and tells them in its tool tip.
#include <QHelpEvent>
#include <QTest>
#include <QToolTip>

#include "tests/support/test_class.h"
#include "ui/widgets/elided_label.h"

namespace elided_label_test {

using namespace lathe;

class ElidedLabelTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void words_without_room_end_in_dots();
};

void ElidedLabelTest::words_without_room_end_in_dots() {
  const ui::Theme theme;
  ui::ElidedLabel label(theme, "label", nullptr, 12);
  const QString words = "Loaded as INT8 in 0.42 s from the packed cache";
  label.setText(words);
  label.resize(600, 20);
  label.show();
  QCOMPARE(label.shown(), words);
  label.resize(120, 20);
  QVERIFY2(label.shown().startsWith("Loaded") && label.shown().endsWith(QChar(0x2026)), qPrintable(label.shown()));
  QCOMPARE(label.text(), words);
  QHelpEvent help(QEvent::ToolTip, QPoint(5, 5), label.mapToGlobal(QPoint(5, 5)));
  QCoreApplication::sendEvent(&label, &help);
  QCOMPARE(QToolTip::text(), words);
  QVERIFY(!label.grab().isNull());
}

LATHE_WINDOW_TEST(ElidedLabelTest)

}  // namespace elided_label_test
#include "elided_label_test.moc"
