// SPDX-License-Identifier: Apache-2.0
#include "engine/text/normalizer.h"

#include <QTest>

using namespace lathe::engine;

namespace {

std::string normalized(const char* description, std::string text) {
  const auto made = make_normalizer(Json::parse(description));
  if (!made) return "refused: " + made.error().message;
  EncodeBudget budget(text.size());
  const auto applied = (*made)->apply(text, budget);
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
    QVERIFY(normalized(R"({"type":"Precompiled"})", "").find("Precompiled") != std::string::npos);
    QVERIFY(normalized(R"({"type":"Sequence","normalizers":[{"type":"Odd"}]})", "").find("Odd") != std::string::npos);
    QVERIFY(normalized(R"({"type":"Replace","pattern":{"String":""},"content":"x"})", "").starts_with("refused"));
    QVERIFY(normalized(R"({"type":"Prepend"})", "").starts_with("refused"));
  }
  void null_means_none() { QVERIFY(make_normalizer(Json())->get() == nullptr); }
};

QTEST_GUILESS_MAIN(NormalizerTest)
#include "normalizer_test.moc"
