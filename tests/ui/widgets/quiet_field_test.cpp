// SPDX-License-Identifier: GPL-3.0-or-later
// The wheel scrolls what can be scrolled: no field of any panel changes by it, unless it has the focus.
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QScrollArea>
#include <QSpinBox>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/widgets/quiet_field.h"

namespace quiet_field_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

/// Whether it was taken.
bool turn_wheel(QWidget& over) {
  const QPointF at(over.rect().center());
  QWheelEvent event(at, over.mapToGlobal(at), {}, {0, -120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
  event.ignore();
  static_cast<QObject&>(over).event(&event);
  return event.isAccepted();
}

bool is_in_scroll_area(const QWidget* widget) {
  for (; widget != nullptr; widget = widget->parentWidget())
    if (qobject_cast<const QScrollArea*>(widget) != nullptr) return true;
  return false;
}

}  // namespace

class QuietFieldTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void it_changes_by_the_wheel_with_the_focus_alone();
  void all_fields_that_scroll_are_quiet();
};

void QuietFieldTest::it_changes_by_the_wheel_with_the_focus_alone() {
  ui::Quiet<QSpinBox> field;
  field.setRange(0, 9);
  field.setValue(5);
  field.show();
  field.clearFocus();
  QVERIFY(!turn_wheel(field));
  QCOMPARE(field.value(), 5);
  QCOMPARE(field.focusPolicy(), Qt::StrongFocus);  // or the wheel would give it the focus
  field.activateWindow();
  field.setFocus();
  QTRY_VERIFY(field.hasFocus());
  QVERIFY(turn_wheel(field));
  QCOMPARE(field.value(), 4);
}

void QuietFieldTest::all_fields_that_scroll_are_quiet() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  fixture.trigger("layout.everything");
  int n = 0;
  for (QWidget* field : fixture.window->findChildren<QWidget*>()) {
    const bool is_field = qobject_cast<QComboBox*>(field) != nullptr || qobject_cast<QAbstractSpinBox*>(field) != nullptr;
    if (!is_field || !is_in_scroll_area(field) || field->hasFocus()) continue;
    ++n;
    QVERIFY2(field->focusPolicy() != Qt::WheelFocus, qPrintable(field->objectName()));
    QVERIFY2(!turn_wheel(*field), qPrintable(field->objectName()));
  }
  QVERIFY2(n > 30, qPrintable(QString::number(n)));  // of the Model and Sampling docks, of Serve and Bench
}

LATHE_WINDOW_TEST(QuietFieldTest)

}  // namespace quiet_field_test
#include "quiet_field_test.moc"
