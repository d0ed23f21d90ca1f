// SPDX-License-Identifier: GPL-3.0-or-later
// A combo box that is too narrow for its text shortens what it draws, keeps the text, and shows the whole of it in its tool
// tip.
#include "ui/widgets/elided_combo_box.h"

#include <QHelpEvent>
#include <QTest>
#include <QToolTip>

#include "tests/support/test_class.h"

namespace elided_combo_box_test {

using namespace lathe;

class ElidedComboBoxTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void long_texts_end_in_dots();
};

void ElidedComboBoxTest::long_texts_end_in_dots() {
  ui::ElidedComboBox box;
  const QString text = "Processor, 21.4 of 23.5 GiB free";
  box.addItems({text, "CUDA"});
  box.setToolTip("The device that computes.");
  box.resize(500, 30);
  box.show();
  QCOMPARE(box.shown(), text);
  box.resize(130, 30);
  QVERIFY2(box.shown().startsWith("Proc") && box.shown().endsWith(QChar(0x2026)), qPrintable(box.shown()));
  QCOMPARE(box.currentText(), text);
  QHelpEvent help(QEvent::ToolTip, QPoint(5, 5), box.mapToGlobal(QPoint(5, 5)));
  QCoreApplication::sendEvent(&box, &help);
  QVERIFY2(QToolTip::text().contains(text) && QToolTip::text().contains(box.toolTip()), qPrintable(QToolTip::text()));
  const QImage shortened = box.grab().toImage();
  box.setCurrentIndex(1);
  QVERIFY(box.grab().toImage() != shortened);
  QCOMPARE(box.shown(), QString("CUDA"));
}

LATHE_WINDOW_TEST(ElidedComboBoxTest)

}  // namespace elided_combo_box_test
#include "elided_combo_box_test.moc"
