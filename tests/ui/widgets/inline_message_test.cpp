// SPDX-License-Identifier: GPL-3.0-or-later
// A message with a long list stays short until its details are asked for.
#include "ui/widgets/inline_message.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace inline_message_test {

using namespace lathe::ui;

class InlineMessageTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_long_text_is_behind_details() {
    const Theme theme;
    QWidget window;
    InlineMessage message(theme, QStringLiteral("message"), &window);
    const QString names = QStringLiteral("unknown class; known: ") + QString(600, QLatin1Char('n'));
    message.set(MessageTone::error, QStringLiteral("Refused"), names, {});
    window.show();
    const auto* shown = message.findChild<QLabel*>(QStringLiteral("message.numbers"));
    QVERIFY(shown->text().size() < 200 && shown->text().startsWith(QStringLiteral("Unknown class")));
    QCOMPARE(message.numbers(), names);
    auto* details = message.findChild<QPushButton*>(QStringLiteral("message.details"));
    QVERIFY(details != nullptr);
    QTest::mouseClick(details, Qt::LeftButton);
    QCOMPARE(shown->text().size(), names.size());
    QVERIFY(!details->isVisible());
    // The same message again, as after a change of state: it stays as it is.
    message.set(MessageTone::error, QStringLiteral("Refused"), names, {});
    QCOMPARE(shown->text().size(), names.size());
  }

  void a_short_text_is_shown_as_it_is() {
    const Theme theme;
    InlineMessage message(theme, QStringLiteral("message"), nullptr);
    message.set(MessageTone::info, QStringLiteral("Not enough memory"), QStringLiteral("needs 6.1 GiB"), {});
    QCOMPARE(message.findChild<QLabel*>(QStringLiteral("message.numbers"))->text(), QStringLiteral("Needs 6.1 GiB"));
    QVERIFY(message.findChild<QPushButton*>(QStringLiteral("message.details")) == nullptr);
  }
};

LATHE_WINDOW_TEST(InlineMessageTest)

}  // namespace inline_message_test
#include "inline_message_test.moc"
