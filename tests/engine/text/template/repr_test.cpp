// SPDX-License-Identifier: Apache-2.0
// How templates print the texts of a list: every code point as repr() of Python 3.12 does.
#include <fmt/format.h>
#include <unicode/uchar.h>
#include <QTest>
#include <algorithm>
#include <iterator>

#include "engine/base/text_file.h"
#include "engine/base/utf8.h"
#include "tests/support/shared_data.h"
#include "tests/support/template_render.h"
#include "tests/support/test_class.h"

namespace repr_test {

using namespace lathe::engine;
using lathe::tests::rendered;
using lathe::tests::source_path;

namespace {

Json unprintable() {
  const auto text = read_text_file(source_path("tests/golden/unprintable.json"), 1 << 20);
  return text ? parse_json(*text, "unprintable.json").value_or(Json()) : Json();
}

std::string escape_of(std::uint32_t code) {
  if (code == '\t') return "\\t";
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code < 0x100) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

/// A newer ICU knows characters that were unassigned in the golden file's version of Unicode.
bool is_younger(std::uint32_t code, const UVersionInfo& known) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(code), age);
  return std::lexicographical_compare(std::begin(known), std::end(known), std::begin(age), std::end(age));
}

}  // namespace

class ReprTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void every_code_point_is_printed_or_escaped_as_in_python() {
    const Json golden = unprintable();
    const std::string unicode = golden.value("unicode", "");
    UVersionInfo known;
    u_versionFromString(known, unicode.c_str());
    QVERIFY2(!unicode.empty() && known[0] >= 15, unicode.c_str());
    const Json& ranges = golden["ranges"];
    std::size_t next = 0;
    std::string text, expected;
    const auto check = [&] {
      const std::string printed = rendered("{{ [x] }}", Json{{"x", text}});
      QCOMPARE(QString::fromStdString(printed), QString::fromStdString("['" + expected + "']"));
      text.clear();
      expected.clear();
    };
    for (std::uint32_t code = 0; code < 0x110000; ++code) {
      if (code == '\'' || code == '\\' || (code >= 0xD800 && code < 0xE000) || is_younger(code, known)) continue;
      while (next < ranges.size() && ranges[next + 1].get<std::uint32_t>() < code) next += 2;
      const bool escaped = next < ranges.size() && ranges[next].get<std::uint32_t>() <= code;
      append_utf8(text, code);
      if (escaped) {
        expected += escape_of(code);
      } else {
        append_utf8(expected, code);
      }
      if (text.size() > 2000) check();
    }
    check();
  }

  void quotes_are_chosen_as_in_python_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    QTest::newRow("plain") << "a" << "'a'";
    QTest::newRow("single") << "it's" << "\"it's\"";
    QTest::newRow("double") << "\"a\"" << "'\"a\"'";
    QTest::newRow("both") << "'\"" << "'\\'\"'";
    QTest::newRow("backslash") << "\\n" << "'\\\\n'";
  }
  void quotes_are_chosen_as_in_python() {
    QFETCH(QString, text);
    QFETCH(QString, expected);
    const Json variables = {{"x", text.toStdString()}};
    QCOMPARE(QString::fromStdString(rendered("{{ [x] }}", variables)), "[" + expected + "]");
    QCOMPARE(QString::fromStdString(rendered("{{ '%r' % x }}", variables)), expected);
    QCOMPARE(QString::fromStdString(rendered("{{ {x: x} }}", variables)), "{" + expected + ": " + expected + "}");
  }

  void numbers_that_json_has_not_are_written_as_in_python() {
    QCOMPARE(rendered("{{ [1e400, -1e400]|tojson }}{{ [1e400] }}", Json::object()),
             std::string("[Infinity, -Infinity][inf]"));
  }
};

LATHE_TEST(ReprTest)

}  // namespace repr_test
#include "repr_test.moc"
