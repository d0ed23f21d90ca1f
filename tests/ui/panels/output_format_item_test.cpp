// SPDX-License-Identifier: GPL-3.0-or-later
// The editor of constraints in the Sampling dock: it says whether a constraint is valid while the user types, keeps the text
// of each kind, and gives the next request what it shows.
#include "ui/panels/sampling/output_format_item.h"

#include <QTemporaryDir>
#include <QTest>

#include "tests/support/test_class.h"

namespace output_format_item_test {

using namespace lathe;
using namespace lathe::ui;

class OutputFormatItemTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init();
  void cleanup() { item.reset(), choice.reset(); }
  void errors_are_marked_while_typing();
  void each_kind_keeps_its_text();
  void the_choice_is_shown();
  void leaving_the_editor_applies_at_once();

 private:
  QComboBox& kind() { return *item->findChild<QComboBox*>("sampling.structured_outputs"); }
  QPlainTextEdit& editor() { return *item->findChild<QPlainTextEdit*>("sampling.structured_outputs.editor"); }
  QString result() { return item->findChild<QLabel*>("sampling.structured_outputs.result")->text(); }
  const std::string& value() { return choice->values().params.structured_outputs; }
  void choose(OutputKind chosen) {
    kind().setCurrentIndex(static_cast<int>(chosen));
    Q_EMIT kind().activated(static_cast<int>(chosen));
  }

  const Theme theme;
  Background background;
  std::unique_ptr<QTemporaryDir> folder;
  std::unique_ptr<app::Settings> settings;
  std::unique_ptr<SamplingChoice> choice;
  std::unique_ptr<OutputFormatItem> item;
};

void OutputFormatItemTest::init() {
  folder = std::make_unique<QTemporaryDir>();
  settings = app::open_settings(folder->path().toStdString());
  choice = std::make_unique<SamplingChoice>(*settings);
  const auto* const field = engine::find_sampling_field(engine::sampling_fields(), "structured_outputs");
  item = std::make_unique<OutputFormatItem>(theme, *field, *choice, background, nullptr);
  item->show();
}

void OutputFormatItemTest::errors_are_marked_while_typing() {
  QVERIFY(!editor().isVisible());
  choose(OutputKind::regex);
  QVERIFY(editor().isVisible() && !editor().placeholderText().isEmpty());
  QVERIFY(value().empty());
  QTest::keyClicks(&editor(), "ab(c");
  QTRY_VERIFY2(result().contains("line 1, column 3"), qPrintable(result()));
  QCOMPARE(editor().extraSelections().size(), 1);
  QCOMPARE(editor().extraSelections().front().cursor.selectedText(), QString("("));
  QTest::keyClicks(&editor(), ")");
  QTRY_VERIFY2(result().startsWith("Valid"), qPrintable(result()));
  QVERIFY(editor().extraSelections().isEmpty());
  QCOMPARE(value(), std::string("{\"regex\":\"ab(c)\"}"));
}

void OutputFormatItemTest::each_kind_keeps_its_text() {
  choose(OutputKind::choice);
  editor().setPlainText("yes\nno");
  choose(OutputKind::grammar);
  QCOMPARE(editor().toPlainText(), QString());
  QVERIFY(value().empty());
  choose(OutputKind::free);
  QVERIFY(value().empty() && !editor().isVisible());
  choose(OutputKind::choice);
  QCOMPARE(editor().toPlainText(), QString("yes\nno"));
  QCOMPARE(value(), std::string(R"({"choice":["yes","no"]})"));
}

void OutputFormatItemTest::the_choice_is_shown() {
  SamplingValues values = choice->values();
  values.params.structured_outputs = R"({"json": "{\"type\": \"object\"}"})";
  choice->set_values(values);
  item->refresh();
  QCOMPARE(kind().currentIndex(), static_cast<int>(OutputKind::json));
  QCOMPARE(editor().toPlainText(), QString(R"({"type": "object"})"));
  QTRY_VERIFY(result().startsWith("Valid"));
  values.params.structured_outputs.clear();
  choice->set_values(values);
  item->refresh();
  QCOMPARE(kind().currentIndex(), static_cast<int>(OutputKind::free));
}

void OutputFormatItemTest::leaving_the_editor_applies_at_once() {
  choose(OutputKind::regex);
  editor().insertPlainText("[0-9]+");
  QVERIFY(value().empty());
  QFocusEvent leaves(QEvent::FocusOut);
  QCoreApplication::sendEvent(&editor(), &leaves);
  QCOMPARE(value(), std::string(R"({"regex":"[0-9]+"})"));
}

LATHE_WINDOW_TEST(OutputFormatItemTest)

}  // namespace output_format_item_test
#include "output_format_item_test.moc"
