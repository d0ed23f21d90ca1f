// SPDX-License-Identifier: Apache-2.0
#include "engine/text/normalizer.h"

#include <QTest>

#include "engine/base/utf8.h"
#include "tests/support/test_class.h"

namespace normalizer_test {

using namespace lathe::engine;

namespace {

std::string normalized(const char* description, std::string text) {
  const auto made = make_normalizer(Json::parse(description));
  if (!made) return "refused: " + made.error().message;
  EncodeBudget budget(text.size());
  TextMarks marks;
  const auto applied = (*made)->apply(text, marks, budget);
  return applied ? text : "failed: " + applied.error().message;
}

}  // namespace

class NormalizerTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void nfc_joins_and_nfd_parts() {
    QCOMPARE(normalized(R"({"type":"NFC"})", "e\xCC\x81"), std::string("\xC3\xA9"));
    QCOMPARE(normalized(R"({"type":"NFD"})", "\xC3\xA9"), std::string("e\xCC\x81"));
    QCOMPARE(normalized(R"({"type":"NFC"})", "\xEF\xAC\x81"), std::string("\xEF\xAC\x81"));
  }
  void nfkc_and_nfkd_replace_ligatures() {
    QCOMPARE(normalized(R"({"type":"NFKC"})", "\xEF\xAC\x81\xC2\xBD"), std::string("fi1\xE2\x81\x84"
                                                                                   "2"));
    QCOMPARE(normalized(R"({"type":"NFKD"})", "\xEF\xAC\x81"), std::string("fi"));
  }
  void lowercase_knows_all_letters() {
    QCOMPARE(normalized(R"({"type":"Lowercase"})", "\xC3\x84pfel"), std::string("\xC3\xA4pfel"));
  }
  void prepend_leaves_an_empty_text_empty() {
    QCOMPARE(normalized(R"({"type":"Prepend","prepend":"_"})", "a"), std::string("_a"));
    QCOMPARE(normalized(R"({"type":"Prepend","prepend":"_"})", ""), std::string());
  }
  void replace_by_string_and_by_pattern() {
    QCOMPARE(normalized(R"({"type":"Replace","pattern":{"String":" "},"content":"__"})", " a  b"), std::string("__a____b"));
    QCOMPARE(normalized(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":"_"})", " a  b"), std::string(" a_b"));
    QCOMPARE(normalized(R"({"type":"Replace","pattern":{"String":"aa"},"content":"a"})", "aaaa"), std::string("aa"));
  }
  void strip_on_either_side() {
    QCOMPARE(normalized(R"({"type":"Strip","strip_left":true,"strip_right":true})", " \xC2\xA0 a b \n"), std::string("a b"));
    QCOMPARE(normalized(R"({"type":"Strip","strip_left":true,"strip_right":false})", " a "), std::string("a "));
    QCOMPARE(normalized(R"({"type":"Strip","strip_left":false,"strip_right":true})", " a "), std::string(" a"));
    QCOMPARE(normalized(R"({"type":"Strip","strip_left":true,"strip_right":true})", "   "), std::string());
  }
  void a_sequence_runs_in_order() {
    QCOMPARE(
        normalized(
            R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":" "},{"type":"Replace","pattern":{"String":" "},"content":"_"}]})",
            "a b"),
        std::string("_a_b"));
  }
  void unknown_types_are_refused_by_name() {
    QVERIFY(normalized(R"({"type":"Marvellous"})", "").find("Marvellous") != std::string::npos);
    QVERIFY(normalized(R"({"type":"Sequence","normalizers":[{"type":"Odd"}]})", "").find("Odd") != std::string::npos);
    QVERIFY(normalized(R"({"type":"Replace","pattern":{"String":""},"content":"x"})", "").starts_with("refused"));
    QVERIFY(normalized(R"({"type":"Prepend"})", "").starts_with("refused"));
  }
  void lowercase_looks_at_no_neighbour() {
    QCOMPARE(normalized(R"({"type":"Lowercase"})", "\xCE\xA3\xCE\xA3"), std::string("\xCF\x83\xCF\x83"));
    QCOMPARE(normalized(R"({"type":"Lowercase"})", "\xC4\xB0"), std::string("i\xCC\x87"));
  }
  void accents_are_all_marks() {
    QCOMPARE(normalized(R"({"type":"StripAccents"})", "e\xCC\x81\xE0\xA4\x83x"), std::string("ex"));
  }
  void bert_cleans_spaces_out_and_lowers() {
    QCOMPARE(normalized(R"({"type":"BertNormalizer"})",
                        "\xC3\x89"
                        "a\t\x01\xE2\x80\x8B"
                        "b\xC2\xA0\xE4\xB8\x96"),
             std::string("ea b  \xE4\xB8\x96 "));
    QCOMPARE(normalized(R"({"type":"BertNormalizer","lowercase":false,"handle_chinese_chars":false,"clean_text":false})",
                        "\xC3\x89\x01\xE4\xB8\x96"),
             std::string("\xC3\x89\x01\xE4\xB8\x96"));
    QCOMPARE(normalized(R"({"type":"BertNormalizer","strip_accents":false})", "\xC3\x89"), std::string("\xC3\xA9"));
  }
  void no_text_shrinks_by_more_than_is_said_data() {
    QTest::addColumn<QString>("type");
    for (const char* type : {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}) QTest::newRow(type) << type;
  }
  void no_text_shrinks_by_more_than_is_said() {
    QFETCH(QString, type);
    const auto form = make_normalizer(Json{{"type", type.toStdString()}});
    const auto parts = make_normalizer(Json{{"type", "NFD"}});
    QVERIFY(form.has_value() && parts.has_value() && (*form)->max_shrink() > 0);
    TextMarks marks;
    for (char32_t code = 1; code < 0x110000; ++code) {
      if (code >= 0xD800 && code < 0xE000) continue;
      std::string text;
      append_utf8(text, code);
      EncodeBudget budget(text.size());
      std::string taken_apart = text;
      QVERIFY((*parts)->apply(taken_apart, marks, budget).has_value());
      for (const std::string& before : {text, taken_apart}) {
        std::string after = before;
        QVERIFY((*form)->apply(after, marks, budget).has_value());
        if (after.size() * (*form)->max_shrink() < before.size()) QFAIL(qPrintable(QString::number(code, 16)));
      }
    }
  }
  void null_means_none() { QVERIFY(make_normalizer(Json())->get() == nullptr); }
};

LATHE_TEST(NormalizerTest)

}  // namespace normalizer_test
#include "normalizer_test.moc"
