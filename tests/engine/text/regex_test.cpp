// SPDX-License-Identifier: Apache-2.0
// Searches are exact within the budget of a text, whatever the size of its windows, and an error beyond it.
#include "engine/text/regex.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace regex_test {

using namespace lathe::engine;

namespace {

/// "begin-end" of all matches, or what went wrong.
std::string matches(const std::string& pattern, const std::string& text) {
  const auto regex = Regex::compile(pattern);
  if (!regex) return "refused: " + regex.error().message;
  EncodeBudget budget(text.size());
  std::vector<TextRange> found;
  const auto done = RegexSearch(*regex, budget).find_all(text, found);
  if (!done) return done.error().code == ErrorCode::too_large ? done.error().message : "wrong code";
  std::string out;
  for (const TextRange range : found) out += std::to_string(range.begin) + "-" + std::to_string(range.end) + " ";
  return out;
}

}  // namespace

class RegexTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void all_matches_are_found() {
    QCOMPARE(matches("a+", "aabab"), std::string("0-2 3-4 "));
    QCOMPARE(matches("b*", "abb"), std::string("1-3 "));  // empty ones are passed over
    QCOMPARE(matches("x", "abc"), std::string());
    QCOMPARE(matches("a", ""), std::string());
    QCOMPARE(matches("(?<=a)b|^c", "cabcb"), std::string("0-1 2-3 "));
  }
  void characters_are_never_cut() { QCOMPARE(matches(".", "\xC3\xA9\xF0\x9F\xA6\x99x"), std::string("0-2 2-6 6-7 ")); }
  void rare_matches_in_long_texts_are_found() {
    // Longer than what one call looks at, matches on either side of its borders.
    std::string text(300'000, 'a'), expected;
    for (const std::size_t at : {0ul, 1ul, 4095ul, 4096ul, 4097ul, 65'535ul, 65'536ul, 299'999ul}) {
      text[at] = 'b';
      expected += std::to_string(at) + "-" + std::to_string(at + 1) + " ";
    }
    QCOMPARE(matches("b", text), expected);
    QCOMPARE(matches("\\p{L}+", text), std::string("0-300000 "));
  }
  void a_match_that_takes_many_steps_is_found() {
    // The run of spaces is given up one by one before the pattern fails on it.
    const std::string text = std::string(200'000, ' ') + "x\n";
    QCOMPARE(matches("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+|x", text),
             std::string("0-199999 199999-200000 200000-200001 200001-200002 "));
  }
  void L17_patterns_that_explode_are_an_error_data() {
    QTest::addColumn<QString>("pattern");
    for (const char* pattern :
         {"(a+)+$", "(a|aa)+b", "(a*)*c", "(a|a)*b", "(?:a?){30}a{30}b", "^(([a-z])+.)+[A-Z]([a-z])+$"}) {
      QTest::newRow(pattern) << pattern;
    }
  }
  void L17_patterns_that_explode_are_an_error() {
    QFETCH(QString, pattern);
    const std::string result = matches(pattern.toStdString(), std::string(5000, 'a') + "!");
    QVERIFY2(result.find("too expensive") != std::string::npos || result.empty(), result.c_str());
  }
  void L17_an_exploding_pattern_is_not_taken_for_no_match() {
    // The match at the end lies behind what is too expensive: it may be found or be an error, but never be lost.
    const std::string result = matches("(a+)+\\d|z", std::string(3000, 'a') + "!z");
    QVERIFY2(result.find("too expensive for this text of 3002 bytes") != std::string::npos, result.c_str());
  }
  void syntax_is_that_of_oniguruma_data() {
    QTest::addColumn<QString>("pattern");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("ranges");
    QTest::newRow("nested class") << "[^(\\s|[.,])]+"
                                  << "ab.c(d"
                                  << "0-2 3-4 5-6 ";
    QTest::newRow("intersection") << "[a-z&&[^b]]+"
                                  << "abc1"
                                  << "0-1 2-3 ";
    QTest::newRow("letters of words") << "\\w+"
                                      << "a\u00b2\u24d0 \u2167"
                                      << "0-6 7-10 ";
    QTest::newRow("letters of words in a class") << "[\\w]+"
                                                 << "a\u00b2"
                                                 << "0-1 ";
    QTest::newRow("symbols in brackets") << "[[:punct:]]+"
                                         << "a+-b"
                                         << "1-3 ";
    QTest::newRow("symbols as a property") << "\\p{Punct}+"
                                           << "a+-b"
                                           << "2-3 ";
    QTest::newRow("script") << "\\p{Han}+\\p{^Hiragana}"
                            << "\u4e2d\u6587a"
                            << "0-7 ";
    QTest::newRow("hexadecimal digit") << "\\h+"
                                       << "xaF9g"
                                       << "1-4 ";
    QTest::newRow("lines") << "^."
                           << "a\nb"
                           << "0-1 2-3 ";
    QTest::newRow("repeated interval") << "a{1,2}+b"
                                       << "aaab"
                                       << "0-4 ";
    QTest::newRow("code") << "\\u0061"
                          << "ba"
                          << "1-2 ";
  }
  void syntax_is_that_of_oniguruma() {
    QFETCH(QString, pattern);
    QFETCH(QString, text);
    QFETCH(QString, ranges);
    QCOMPARE(matches(pattern.toStdString(), text.toStdString()), ranges.toStdString());
  }
  void bad_patterns_are_refused() {
    QVERIFY(matches("[a", "x").starts_with("refused: bad regular expression at offset 0"));
    QVERIFY(matches("(?~a)", "x").starts_with("refused: bad regular expression at offset 0: \"(?~\" is not supported"));
    QVERIFY(matches(std::string(70'000, 'x'), "x").starts_with("refused: a regular expression of 70000 bytes"));
    QVERIFY(matches(std::string(5'000, '(') + std::string(5'000, ')'), "x").starts_with("refused"));
  }
};

LATHE_TEST(RegexTest)

}  // namespace regex_test
#include "regex_test.moc"
