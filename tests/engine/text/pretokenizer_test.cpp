// SPDX-License-Identifier: Apache-2.0
#include "engine/text/pretokenizer.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace pretokenizer_test {

using namespace lathe::engine;

namespace {

/// The words of a text, in brackets.
std::string words(const char* description, const std::string& text, bool at_start = true) {
  const auto made = make_pretokenizer(Json::parse(description));
  if (!made) return "refused: " + made.error().message;
  Words all{.text = text, .ranges = {{0, text.size()}}, .at_start = at_start};
  EncodeBudget budget(text.size());
  if (const auto applied = (*made)->apply(all, budget); !applied) return "failed: " + applied.error().message;
  std::string out;
  for (const TextRange range : all.ranges) out += "[" + all.text.substr(range.begin, range.end - range.begin) + "]";
  return out;
}
std::string split(const std::string& behavior, const std::string& pattern, const std::string& text, bool invert = false) {
  const Json description = {
      {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", behavior}, {"invert", invert}};
  return words(description.dump().c_str(), text);
}

}  // namespace

class PretokenizerTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void split_isolates() { QCOMPARE(split("Isolated", "-", "a--b-"), std::string("[a][-][-][b][-]")); }
  void split_removes() { QCOMPARE(split("Removed", "-", "a--b-"), std::string("[a][b]")); }
  void split_merges_with_previous() {
    QCOMPARE(split("MergedWithPrevious", "-", "the-final--countdown"), std::string("[the-][final-][-][countdown]"));
  }
  void split_merges_with_next() {
    QCOMPARE(split("MergedWithNext", "-", "the-final--countdown"), std::string("[the][-final][-][-countdown]"));
  }
  void split_contiguous() {
    QCOMPARE(split("Contiguous", "-", "the-final--countdown"), std::string("[the][-][final][--][countdown]"));
  }
  void split_inverted_keeps_the_matches() { QCOMPARE(split("Removed", "\\w+", "a, b", true), std::string("[a][b]")); }
  void split_by_a_plain_string_reads_no_pattern() {
    QCOMPARE(words(R"({"type":"Split","pattern":{"String":"."},"behavior":"Isolated"})", "a.b"), std::string("[a][.][b]"));
    QCOMPARE(words(R"({"type":"Split","pattern":{"String":"\u00e9"},"behavior":"Removed"})",
                   "a\xC3\xA9"
                   "b"),
             std::string("[a][b]"));
  }
  void gpt2_words() {
    QCOMPARE(words(R"({"type":"ByteLevel","add_prefix_space":false})", "Hello  world's 42!\n"),
             std::string("[Hello][ ][ world]['s][ 42][!][\n]"));
  }
  void byte_level_may_put_a_space_first() {
    QCOMPARE(words(R"({"type":"ByteLevel","add_prefix_space":true})", "Hi you"), std::string("[ Hi][ you]"));
    QCOMPARE(words(R"({"type":"ByteLevel","add_prefix_space":true})", " Hi"), std::string("[ Hi]"));
  }
  void byte_level_may_leave_the_words_alone() {
    QCOMPARE(words(R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false})", "a b"), std::string("[a b]"));
  }
  void digits_stay_together_or_not() {
    QCOMPARE(words(R"({"type":"Digits","individual_digits":false})", "a12b"), std::string("[a][12][b]"));
    QCOMPARE(words(R"({"type":"Digits","individual_digits":true})", "a12b"), std::string("[a][1][2][b]"));
  }
  void white_space_and_punctuation() {
    QCOMPARE(words(R"({"type":"Whitespace"})", "Hey, you!  x"), std::string("[Hey][,][you][!][x]"));
    QCOMPARE(words(R"({"type":"WhitespaceSplit"})", " Hey, you! "), std::string("[Hey,][you!]"));
    QCOMPARE(words(R"({"type":"Punctuation"})", "a,b!!"), std::string("[a][,][b][!][!]"));
  }
  void metaspace_marks_spaces() {
    const char* always = R"({"type":"Metaspace","replacement":"_","prepend_scheme":"always"})";
    QCOMPARE(words(always, "Hey you  x"), std::string("[_Hey][_you][_][_x]"));
    QCOMPARE(words(always, " Hey"), std::string("[_Hey]"));
    QCOMPARE(words(R"({"type":"Metaspace","replacement":"_","prepend_scheme":"never"})", "Hey you"),
             std::string("[Hey][_you]"));
    QCOMPARE(words(R"({"type":"Metaspace","replacement":"_","prepend_scheme":"always","split":false})", "a b"),
             std::string("[_a_b]"));
  }
  void metaspace_first_looks_at_the_start_only() {
    const char* first = R"({"type":"Metaspace","replacement":"_","prepend_scheme":"first"})";
    QCOMPARE(words(first, "Hey", true), std::string("[_Hey]"));
    QCOMPARE(words(first, "Hey", false), std::string("[Hey]"));
  }
  void a_sequence_cuts_further() {
    QCOMPARE(
        words(
            R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Digits","individual_digits":true}]})",
            "ab 12"),
        std::string("[ab][1][2]"));
  }
  void llama3_words() {
    const std::string pattern =
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
        "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    QCOMPARE(split("Isolated", pattern, "I'LL pay 12345 \xC3\xA9t\xC3\xA9!!\n\n  x"),
             std::string("[I]['LL][ pay][ ][123][45][ \xC3\xA9t\xC3\xA9][!!\n\n][ ][ x]"));
  }
  void unknown_types_are_refused_by_name_data() {
    QTest::addColumn<QByteArray>("description");
    const char* rows[] = {
        R"({"type":"UnicodeScripts"})",
        R"({"type":"Nonsense"})",
        R"({"no":"type"})",
        "[]",
        R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"Odd"})",
        "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[a\"},\"behavior\":\"Isolated\"}",
        R"({"type":"Split","behavior":"Isolated"})",
        R"({"type":"Sequence"})",
        R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Whitespace"}]})",
    };
    for (const char* text : rows) {
      QTest::newRow(text) << QByteArray(text);
    }
  }
  void unknown_types_are_refused_by_name() {
    QFETCH(QByteArray, description);
    const auto made = make_pretokenizer(Json::parse(description.toStdString()));
    QVERIFY(!made && made.error().code == ErrorCode::model_refused && !made.error().message.empty());
  }
  void null_means_none() { QVERIFY(make_pretokenizer(Json())->get() == nullptr); }
  void L17_a_pattern_made_to_explode_is_an_error() {
    const std::string result = split("Isolated", "(a+)+$|(a|aa)+b", std::string(5000, 'a') + "!");
    QVERIFY2(result.starts_with("failed: ") && result.find("too expensive") != std::string::npos, result.c_str());
  }
};

LATHE_TEST(PretokenizerTest)

}  // namespace pretokenizer_test
#include "pretokenizer_test.moc"
