// SPDX-License-Identifier: GPL-3.0-or-later
// Output formats of the Sampling dock: each kind comes back from its JSON, what a kind cannot show stays whole, and errors
// of the engine find their place in the editor's text.
#include "ui/models/output_format.h"

#include <QTest>

#include "engine/api/structured_outputs.h"
#include "tests/support/test_class.h"

namespace output_format_test {

using namespace lathe;
using namespace lathe::ui;

class OutputFormatTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void kinds_come_back_data();
  void kinds_come_back();
  void other_json_stays_whole_data();
  void other_json_stays_whole();
  void errors_have_their_place_data();
  void errors_have_their_place();
};

void OutputFormatTest::kinds_come_back_data() {
  QTest::addColumn<int>("kind");
  QTest::addColumn<QString>("text");
  QTest::newRow("object") << static_cast<int>(OutputKind::json_object) << QString();
  QTest::newRow("schema") << static_cast<int>(OutputKind::json) << QString("{\"type\":\n  \"integer\"}");
  QTest::newRow("order of keys") << static_cast<int>(OutputKind::json)
                                 << QString(R"({"properties": {"z": {}, "a": {}}, "type": "object"})");
  QTest::newRow("expression") << static_cast<int>(OutputKind::regex) << QString("\\d+\"[ä-ö]");
  QTest::newRow("choice") << static_cast<int>(OutputKind::choice) << QString("yes\nno, thanks\nüber");
  QTest::newRow("grammar") << static_cast<int>(OutputKind::grammar) << QString("root ::= \"a\" | b\nb ::= [0-9]+");
}

void OutputFormatTest::kinds_come_back() {
  QFETCH(int, kind);
  QFETCH(QString, text);
  const OutputFormat format{static_cast<OutputKind>(kind), text};
  const std::string json = structured_outputs_of(format);
  const auto checked = engine::check_structured_outputs(json);
  QVERIFY2(checked.has_value(), checked ? "" : checked.error().message.c_str());
  QVERIFY(output_format_of(json) == format);
  QVERIFY(structured_outputs_of({format.kind, "  \n"}).empty() == (format.kind != OutputKind::json_object));
}

void OutputFormatTest::other_json_stays_whole_data() {
  QTest::addColumn<QString>("json");
  for (const char* json :
       {R"({"json": {"type": "object"}})", R"({"json": "{}", "whitespace": "none"})", R"({"choice": ["a\nb"]})",
        R"({"choice": []})", R"({"json_object": false})", R"({"structural_tag": {}})", "{broken", "[1]"})
    QTest::newRow(json) << QString(json);
}

void OutputFormatTest::other_json_stays_whole() {
  QFETCH(QString, json);
  const OutputFormat format = output_format_of(json.toStdString());
  QCOMPARE(format.kind, OutputKind::other);
  QCOMPARE(structured_outputs_of(format), json.toStdString());
}

void OutputFormatTest::errors_have_their_place_data() {
  QTest::addColumn<int>("kind");
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("marked");  ///< text of the span; empty: none
  QTest::addColumn<QString>("message");
  const auto row = [](const char* name, OutputKind kind, const QString& text, const QString& marked,
                      const QString& message) {
    QTest::newRow(name) << static_cast<int>(kind) << text << marked << message;
  };
  row("group without end", OutputKind::regex, "ab(c", "(", "At line 1, column 3: this ( has no )");
  row("letters of several bytes", OutputKind::regex, "äöü(c", "(", "At line 1, column 4: this ( has no )");
  row("second line of a grammar", OutputKind::grammar, "root ::= \"a\"\nb ::= foo", "f", "line 2, column 7");
  row("end of a schema", OutputKind::json, "{\"type\": ", " ", "line 1, column");
  row("keyword", OutputKind::json, R"({"type": "object", "properties": {"minimun": {"minimun": 3}}})", "\"minimun\"",
      "properties.minimun.minimun: this keyword is not known");
  row("expression in a schema", OutputKind::json, R"({"type": "string", "pattern": "a("})", "\"pattern\"",
      "pattern: at byte");
  row("whole", OutputKind::other, "{\"json\": ", " ", "line 1, column");
}

void OutputFormatTest::errors_have_their_place() {
  QFETCH(int, kind);
  QFETCH(QString, text);
  QFETCH(QString, marked);
  QFETCH(QString, message);
  const OutputFormat format{static_cast<OutputKind>(kind), text};
  const auto checked = engine::check_structured_outputs(structured_outputs_of(format));
  QVERIFY(!checked.has_value());
  const std::optional<TextSpan> span = error_span(checked.error(), format);
  QVERIFY2(span.has_value(), checked.error().message.c_str());
  QCOMPARE(text.mid(span->begin, span->length), marked);
  QVERIFY2(error_text(checked.error(), format).contains(message), qPrintable(error_text(checked.error(), format)));
  if (text.count(marked) > 1 && marked.size() > 1) QCOMPARE(span->begin, static_cast<int>(text.lastIndexOf(marked)));
}

LATHE_WINDOW_TEST(OutputFormatTest)

}  // namespace output_format_test
#include "output_format_test.moc"
