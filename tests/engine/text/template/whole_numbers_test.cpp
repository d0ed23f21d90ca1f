// SPDX-License-Identifier: Apache-2.0
// Whole numbers of more than 64 bits in templates: what Python prints for them and how it compares them.
#include <QTest>

#include "engine/api/chat.h"
#include "engine/api/exact_json.h"
#include "tests/support/template_render.h"
#include "tests/support/test_class.h"

namespace whole_numbers_test {

using namespace lathe::engine;
using lathe::tests::rendered;

class WholeNumbersTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  /// Expected texts are those of jinja2.
  void expressions_data() {
    QTest::addColumn<QString>("expression");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* expression, const char* expected) {
      QTest::newRow(expression) << QString(expression) << QString(expected);
    };
    row("100000000000000000000", "100000000000000000000");
    row("1_000_000_000_000_000_000_000", "1000000000000000000000");
    row("-100000000000000000000", "-100000000000000000000");
    row("- -100000000000000000000", "100000000000000000000");
    row("+100000000000000000000", "100000000000000000000");
    row("-9223372036854775808", "-9223372036854775808");
    row("-9223372036854775808 + 1", "-9223372036854775807");
    row("-(-9223372036854775808)", "9223372036854775808");
    row("18446744073709551615", "18446744073709551615");
    row("[100000000000000000000]", "[100000000000000000000]");
    row("{100000000000000000000: 1}[100000000000000000000]", "1");
    row("100000000000000000000|tojson", "100000000000000000000");
    row("{100000000000000000000: -100000000000000000000}|tojson", "{\"100000000000000000000\": -100000000000000000000}");
    row("100000000000000000000|string|length", "21");
    row("100000000000000000000 == 100000000000000000000", "True");
    row("100000000000000000000 == 100000000000000000001", "False");
    row("100000000000000000000 == 1e20", "True");
    row("100000000000000000001 == 1e20", "False");
    row("100000000000000000001 > 1e20", "True");
    row("100000000000000000000 < 1e400", "True");
    row("100000000000000000000 != 7", "True");
    row("9223372036854775808 > 9223372036854775807", "True");
    row("-9223372036854775809 < -9223372036854775808", "True");
    row("-9223372036854775809 < 0.5", "True");
    row("100000000000000000000 == '100000000000000000000'", "False");
    row("[100000000000000000000, 5, -100000000000000000000, 2.5]|sort",
        "[-100000000000000000000, 2.5, 5, 100000000000000000000]");
    row("[5, 100000000000000000000]|max", "100000000000000000000");
    row("100000000000000000000 in [1, 100000000000000000000]", "True");
    row("'yes' if 100000000000000000000 else 'no'", "yes");
    row("100000000000000000000 is integer and 100000000000000000000 is number and 100000000000000000000 is not float",
        "True");
    row("100000000000000000000 + 0.5", "1e+20");
    row("100000000000000000000|float", "1e+20");
    row("100000000000000000000|int", "100000000000000000000");
    row("'-00100000000000000000000'|int", "-100000000000000000000");
    row("'9223372036854775808'|int", "9223372036854775808");
    row("1e20|int", "100000000000000000000");
    row("-100000000000000000000|abs", "100000000000000000000");
    row("(-100000000000000000000)|abs", "100000000000000000000");
    row("100000000000000000000|round", "100000000000000000000");
    row("'%d|%s|%25d' % (100000000000000000000, 100000000000000000000, -100000000000000000000)",
        "100000000000000000000|100000000000000000000|   -100000000000000000000");
    row("'{:,} {:+d} {}'.format(100000000000000000000, 100000000000000000000, 100000000000000000000)",
        "100,000,000,000,000,000,000 +100000000000000000000 100000000000000000000");
    row("100000000000000000000 ~ ''", "100000000000000000000");
  }
  void expressions() {
    QFETCH(QString, expression);
    QFETCH(QString, expected);
    QCOMPARE(QString::fromStdString(rendered("{{ " + expression.toStdString() + " }}")), expected);
  }
  void digits_have_a_limit() {
    QVERIFY(rendered("{{ " + std::string(4301, '7') + " }}").starts_with("error: the number has more than 4300 digits"));
    QCOMPARE(rendered("{{ '" + std::string(4301, '7') + "'|int('no') }}"), std::string("no"));
  }
  void tools_and_arguments_keep_their_digits() {
    const auto chat = compile_chat_template(
        "{{ tools|tojson }}{% for m in messages %}{% for c in m.tool_calls %}{{ c.function.arguments|tojson }}"
        "{{ c.function.arguments.n }}{% endfor %}{% endfor %}",
        {});
    QVERIFY(chat);
    ChatRenderOptions options;
    const std::string tools = R"([{"maximum": 18446744073709551615, "minimum": -9223372036854775809}])";
    options.tools = parse_exact_json(tools, "tools").value();
    const std::string arguments = R"({"n": 12345678901234567890, "list": [123456789012345678901234567890, 1.5, -1]})";
    const ChatMessage call{.role = "assistant", .tool_calls = {{.name = "f", .arguments = arguments, .id = ""}}};
    const auto spans = (*chat)->render({call}, options);
    QVERIFY(spans);
    std::string text;
    for (const TextSpan& span : *spans) text += span.text;
    QCOMPARE(text, tools + arguments + "12345678901234567890");
  }
  void exact_json_is_written_as_it_was() {
    const std::string text =
        R"({"b":[18446744073709551616,{"a":-9223372036854775809},[],{}],"é\n":"x","n":null,"f":1.5,"u":18446744073709551615})";
    const auto exact = parse_exact_json(text, "text");
    QVERIFY(exact);
    QCOMPARE(dump_exact_json(*exact), text);
    QCOMPARE(digits_of((*exact)["b"][0]), std::optional<std::string>("18446744073709551616"));
    QVERIFY(!digits_of((*exact)["u"]));
    QCOMPARE(digits_of(Json(*exact)["b"][0]), std::optional<std::string>("18446744073709551616"));
    QVERIFY(rounded_json(*exact) == parse_ordered_json(text, "text").value());
    QVERIFY(!parse_exact_json(R"({"a":1,"a":2})", "text"));
    QVERIFY(!parse_exact_json("1e400", "text"));
  }
};

LATHE_TEST(WholeNumbersTest)

}  // namespace whole_numbers_test
#include "whole_numbers_test.moc"
