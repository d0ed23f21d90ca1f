// SPDX-License-Identifier: Apache-2.0
// Tests against the output of Jinja2 for the same templates: tests/golden/make_template_goldens.py.
#include <QTest>

#include "engine/api/chat.h"
#include "engine/api/json.h"
#include "engine/base/text_file.h"
#include "tests/support/shared_data.h"
#include "tests/support/template_render.h"
#include "tests/support/test_class.h"

namespace golden_test {

using namespace lathe::engine;
using lathe::tests::rendered;
using lathe::tests::shared_path;
using lathe::tests::source_path;

namespace {

Json golden(const std::string& name) {
  const auto text = read_text_file(source_path("tests/golden/" + name), 1 << 26);
  return text ? parse_json(*text, name).value_or(Json()) : Json();
}

/// The golden file's text of a case; a null string where jinja2 refuses it.
QString expected_text(const Json& text) {
  if (text.is_null()) return {};
  const QString out = QString::fromStdString(text.get<std::string>());
  return out.isNull() ? QString("") : out;
}

/// The same text, or both refuse.
void compare(const std::string& text, const QString& expected) {
  if (expected.isNull()) {
    QVERIFY2(text.starts_with("error: "), text.c_str());
  } else {
    QCOMPARE(QString::fromStdString(text), expected);
  }
}

}  // namespace

class GoldenTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void expressions_data() {
    QTest::addColumn<QString>("expression");
    QTest::addColumn<QString>("expected");
    int n = 0;
    const Json file = golden("template_expressions.json");
    for (const Json& row : file["cases"]) {
      const QString expression = QString::fromStdString(row[0].get<std::string>());
      QTest::addRow("%d %s", ++n, qPrintable(expression)) << expression << expected_text(row[1]);
    }
  }
  void expressions() {
    QFETCH(QString, expression);
    QFETCH(QString, expected);
    static const Json variables = golden("template_expressions.json")["variables"];
    compare(rendered("{{ " + expression.toStdString() + " }}", variables), expected);
  }
  void statements_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("expected");
    const Json file = golden("template_statements.json");
    for (const Json& row : file) {
      QTest::newRow(row[0].get<std::string>().c_str())
          << QString::fromStdString(row[1].get<std::string>()) << expected_text(row[2]);
    }
  }
  void statements() {
    QFETCH(QString, source);
    QFETCH(QString, expected);
    compare(rendered(source.toStdString()), expected);
  }
  void chat_templates_data() {
    QTest::addColumn<QString>("file");
    const Json templates = golden("chat_templates.json");
    for (const auto& [file, cases] : templates.items()) QTest::newRow(file.c_str()) << QString::fromStdString(file);
  }
  void chat_templates() {
    QFETCH(QString, file);
    SKIP_WITHOUT_SHARED("data/templates/" + file.toStdString());
    auto source = read_text_file(shared_path("data/templates/" + file.toStdString()), 1 << 20);
    const auto compiled = compile_chat_template(*source, {"<BOS>", "<EOS>", "<UNK>", "<PAD>"});
    QVERIFY2(compiled.has_value(), compiled ? "" : compiled.error().message.c_str());
    const Json templates = golden("chat_templates.json");
    for (const Json& item : templates[file.toStdString()]) {
      std::vector<ChatMessage> messages;
      for (const Json& message : item["messages"]) messages.push_back({message["role"], message["content"]});
      ChatRenderOptions options;
      options.add_generation_prompt = item["add_generation_prompt"];
      options.variables = item["variables"];
      const auto spans = (*compiled)->render(messages, options);
      QCOMPARE(spans.has_value(), !item["text"].is_null());
      if (spans) QCOMPARE(QString::fromStdString(joined(*spans)), QString::fromStdString(item["text"].get<std::string>()));
    }
  }
};

LATHE_TEST(GoldenTest)

}  // namespace golden_test
#include "golden_test.moc"
