// SPDX-License-Identifier: Apache-2.0
#include "engine/base/utf8.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace utf8_test {

using namespace lathe::engine;

class Utf8Test : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void every_code_point_reads_back() {
    for (char32_t code = 0; code <= 0x10FFFF; code += code < 0x3000 ? 1 : 61) {
      if (code >= 0xD800 && code <= 0xDFFF) continue;
      std::string text;
      append_utf8(text, code);
      const Utf8Step step = read_utf8(text, 0);
      QVERIFY(step.valid && step.code == code && step.size == text.size());
    }
  }
  void broken_bytes_are_found_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<int>("at");
    QTest::newRow("continuation alone") << QByteArray("a\x80") << 1;
    QTest::newRow("overlong slash") << QByteArray("\xC0\xAF") << 0;
    QTest::newRow("overlong of three") << QByteArray("\xE0\x80\xAF") << 0;
    QTest::newRow("surrogate") << QByteArray("ab\xED\xA0\x80") << 2;
    QTest::newRow("above 10FFFF") << QByteArray("\xF4\x90\x80\x80") << 0;
    QTest::newRow("F5") << QByteArray("\xF5\x80\x80\x80") << 0;
    QTest::newRow("cut") << QByteArray("abc\xE2\x82") << 3;
  }
  void broken_bytes_are_found() {
    QFETCH(QByteArray, text);
    QFETCH(int, at);
    QVERIFY(!is_valid_utf8(text.toStdString()));
    QCOMPARE(static_cast<int>(first_invalid_utf8(text.toStdString())), at);
  }
  void repairing_keeps_what_is_whole() {
    QCOMPARE(repaired_utf8("a\xFF"
                           "b"),
             std::string("a\xEF\xBF\xBD"
                         "b"));
    QCOMPARE(repaired_utf8("\xE2\x82"), std::string("\xEF\xBF\xBD"));
    QCOMPARE(repaired_utf8("\xE2\x82\xAC"), std::string("\xE2\x82\xAC"));
    QVERIFY(is_valid_utf8(repaired_utf8("\x80\xC3\xF0\x9F\xED\xA0\x80\xFE")));
  }
  void a_cut_character_is_a_tail() {
    QCOMPARE(incomplete_utf8_tail("abc"), std::size_t{0});
    QCOMPARE(incomplete_utf8_tail("a\xC3"), std::size_t{1});
    QCOMPARE(incomplete_utf8_tail("a\xE2\x82"), std::size_t{2});
    QCOMPARE(incomplete_utf8_tail("a\xF0\x9F\xA6"), std::size_t{3});
    QCOMPARE(incomplete_utf8_tail("\xF0\x9F\xA6\x99"), std::size_t{0});
  }
  void what_can_never_be_a_character_is_no_tail() {
    QCOMPARE(incomplete_utf8_tail("\xFF"), std::size_t{0});
    QCOMPARE(incomplete_utf8_tail("\x80\x80\x80\x80"), std::size_t{0});
    QCOMPARE(incomplete_utf8_tail("\xED\xA0"), std::size_t{0});
    QCOMPARE(incomplete_utf8_tail(""), std::size_t{0});
  }
  void excerpts_are_printable_and_bounded() {
    QCOMPARE(printable_excerpt("a\nb\x1B[31m"), std::string("a?b?[31m"));
    QCOMPARE(printable_excerpt("abcdef", 3), std::string("abc..."));
    QCOMPARE(printable_excerpt("\xE2\x82\xAC\xE2\x82\xAC", 4), std::string("\xE2\x82\xAC..."));
    QVERIFY(is_valid_utf8(printable_excerpt("\xFF\xFE")));
  }
};

LATHE_TEST(Utf8Test)

}  // namespace utf8_test
#include "utf8_test.moc"
