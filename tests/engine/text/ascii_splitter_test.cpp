// SPDX-License-Identifier: Apache-2.0
// The words that are found without a regular expression are those that the regular expression finds.
#include "engine/text/ascii_splitter.h"

#include <QTest>
#include <random>

#include "engine/text/regex.h"
#include "tests/support/test_class.h"

namespace ascii_splitter_test {

using namespace lathe::engine;

namespace {

std::vector<TextRange> matches_of(const Regex& regex, std::string_view text) {
  EncodeBudget budget(text.size());
  std::vector<TextRange> matches;
  const auto done = RegexSearch(regex, budget).find_all(text, matches);
  return done ? matches : std::vector<TextRange>();
}

std::string random_text(std::mt19937& random) {
  // The parts are the cases that the patterns distinguish, with letters, digits and spaces beyond ASCII; U+017F and U+212A
  // are s and k in another case.
  constexpr std::string_view kParts[] = {" ",        " ",        "  ",
                                         "\n",       "\r",       "\t",
                                         "\x0B",     "'",        "'",
                                         "s",        "t",        "r",
                                         "e",        "v",        "m",
                                         "l",        "L",        "d",
                                         "S",        "RE",       "a",
                                         "Z",        "1",        "2",
                                         "33",       ".",        "!",
                                         "-",        "\x1C",     "\x7F",
                                         "\xC3\xA9", "\xC5\xBF", "\xE2\x84\xAA",
                                         "_",        "(",        "\xC2\xA0",
                                         "\xCC\x81", "\xD9\xA1", "\xE4\xB8\xAD",
                                         "\xC2\x85"};
  std::string text;
  // Long words at times.
  for (std::size_t n = random() % 24; n > 0; --n) text += kParts[random() % std::size(kParts)];
  if (random() % 8 == 0) text += std::string(random() % 40, random() % 2 == 0 ? 'x' : ' ');
  if (random() % 16 == 0) text += '\0';
  return text;
}

}  // namespace

class AsciiSplitterTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void they_are_those_of_the_pattern_data() {
    QTest::addColumn<QByteArray>("pattern");
    for (const std::string_view pattern : {kGpt2Words, kLlama3Words, kQwen2Words}) {
      QVERIFY(ascii_splitter_of(pattern) != nullptr);
      QTest::addRow("%d bytes", static_cast<int>(pattern.size()))
          << QByteArray(pattern.data(), static_cast<int>(pattern.size()));
    }
  }
  void they_are_those_of_the_pattern() {
    QFETCH(QByteArray, pattern);
    const auto by_heart = Regex::compile(pattern.toStdString());
    // The same in brackets is another pattern, of which PCRE2 finds every match.
    const auto by_pattern = Regex::compile("(?:" + pattern.toStdString() + ")");
    QVERIFY(by_heart.has_value() && by_pattern.has_value());
    std::mt19937 random(7);
    for (int i = 0; i < 20'000; ++i) {
      const std::string text = random_text(random);
      const auto expected = matches_of(*by_pattern, text), got = matches_of(*by_heart, text);
      QVERIFY2(std::equal(got.begin(), got.end(), expected.begin(), expected.end(),
                          [](TextRange a, TextRange b) { return a.begin == b.begin && a.end == b.end; }),
               text.c_str());
    }
  }
  void characters_beyond_ascii_are_left_to_the_pattern() {
    const AsciiWordEnd end = ascii_splitter_of(kLlama3Words);
    QCOMPARE(end("word ", 0), 4U);
    QCOMPARE(end("word\xC3\xA9", 0), 0U);
    QCOMPARE(end(" \xC2\xA0", 0), 0U);
    QCOMPARE(end("12\xD9\xA1", 0), 0U);
    QCOMPARE(end("123\xD9\xA1", 0), 3U);
    QCOMPARE(end("'\xC5\xBF", 0), 0U);
  }
  void other_patterns_are_not_known() {
    QVERIFY(ascii_splitter_of("") == nullptr);
    QVERIFY(ascii_splitter_of("\\p{L}+") == nullptr);
  }
};

LATHE_TEST(AsciiSplitterTest)

}  // namespace ascii_splitter_test
#include "ascii_splitter_test.moc"
