// SPDX-License-Identifier: Apache-2.0
// Added tokens with "normalized": true, and what a normal form still knows of its text. The expected ids are those of the
// tokenizers library 0.23.
#include <QTest>

#include <array>

#include "engine/text/normal_text.h"
#include "tests/support/bpe_files.h"
#include "tests/support/encoded.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"

namespace normalized_tokens_test {

using namespace lathe::engine;
using lathe::tests::byte_level_file;
using lathe::tests::encoded;
using lathe::tests::TextFolder;

namespace {

struct Sample {
  const char* text = nullptr;
  const char* ids = nullptr;  ///< bytes as they are, an added token as [id]
};

struct Case {
  const char *name, *normalizer, *added_tokens;
  std::array<Sample, 3> samples;
};

constexpr std::array kCases = {
    Case{"lowercase",
         R"({"type":"Lowercase"})",
         R"([{"id":500,"content":"NEW","normalized":true}])",
         {{{"a New b", "a [500] b"}, {"new", "[500]"}, {"nEWs", "[500]s"}}}},
    Case{"as written",
         R"({"type":"Lowercase"})",
         R"([{"id":500,"content":"NEW"}])",
         {{{"a New b", "a new b"}, {"NEW", "[500]"}}}},
    Case{"raw goes first",
         R"({"type":"Lowercase"})",
         R"([{"id":500,"content":"<a"},{"id":501,"content":"<a>","normalized":true}])",
         {{{"<a>", "[500]>"}, {"<A>", "[501]"}}}},
    Case{"nfkc",
         R"({"type":"NFKC"})",
         R"([{"id":500,"content":"\u2460x","normalized":true}])",
         {{{"1x", "[500]"}, {"\xE2\x91\xA0x", "[500]"}, {"\xE2\x91\xA0 x", "1 x"}}}},
    Case{"nfd",
         R"({"type":"NFD"})",
         R"([{"id":500,"content":"\u00e9a","normalized":true}])",
         {{{"\xC3\xA9"
            "a",
            "[500]"},
           {"e\xCC\x81"
            "a",
            "[500]"},
           {"ea", "ea"}}}},
    Case{"nfc",
         R"({"type":"NFC"})",
         R"([{"id":500,"content":"e\u0301x","normalized":true}])",
         {{{"\xC3\xA9x", "[500]"}, {"e\xCC\x81x", "[500]"}, {"ex", "ex"}}}},
    Case{"accents",
         R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]})",
         R"([{"id":500,"content":"caf\u00e9","normalized":true}])",
         {{{"cafe", "[500]"}, {"CAF\xC3\x89 caf\xC3\xA9", "CAFE [500]"}, {"cafe\xCC\x81s", "[500]s"}}}},
    Case{"bert",
         R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})",
         R"([{"id":500,"content":"Stra\u00dfE","normalized":true},{"id":501,"content":"\u4e16\u754c","normalized":true}])",
         {{{"STRA\xC3\x9F"
            "E",
            "[500]"},
           {"a\xE4\xB8\x96\xE7\x95\x8C"
            "b",
            "a[501]b"},
           {"stra\xC3\x9F"
            "e\xE4\xB8\x96\xE7\x95\x8C",
            "[500][501]"}}}},
    Case{"prepend",
         R"({"type":"Prepend","prepend":"x"})",
         R"([{"id":500,"content":"<new>","normalized":true}])",
         {{{"a<new>b", "xa<new>b"}, {"<new>b", "[500]b"}, {"ax<new>b", "xa[500]b"}}}},
    Case{"replace",
         R"({"type":"Replace","pattern":{"String":" "},"content":"_"})",
         R"([{"id":500,"content":"a b","normalized":true},{"id":501,"content":"c_d","normalized":true}])",
         {{{"a b", "[500]"}, {"a_b", "[500]"}, {"c d", "[501]"}}}},
    Case{"whole words",
         R"({"type":"Lowercase"})",
         R"([{"id":500,"content":"CAT","single_word":true,"normalized":true}])",
         {{{"Cat", "[500]"}, {"cats CAT", "cats [500]"}}}},
    Case{"white space",
         R"({"type":"Lowercase"})",
         R"([{"id":500,"content":"CAT","lstrip":true,"rstrip":true,"normalized":true}])",
         {{{"a  cAt \x0A b", "a[500]b"}}}},
    Case{"special",
         R"({"type":"Lowercase"})",
         R"([{"id":500,"content":"<END>","normalized":true,"special":true}])",
         {{{"a<End>b", "a[500]b"}}}},
    Case{"as written before nfkc",
         R"({"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]})",
         R"([{"id":500,"content":"\ufb01N","normalized":true},{"id":501,"content":"\ufb01n"}])",
         {{{"FIN", "[500]"}, {"\xEF\xAC\x81n", "[501]"}, {"\xEF\xAC\x81N \xEF\xAC\x81n", "[500] [501]"}}}},
    Case{"strip",
         R"({"type":"Strip","strip_left":true,"strip_right":true})",
         R"([{"id":500,"content":" cat ","normalized":true}])",
         {{{"  cat  cat", "[500]  [500]"}, {"a cat b", "a [500] b"}}}},
    Case{"taken away",
         R"({"type":"Replace","pattern":{"String":"q"},"content":""})",
         R"([{"id":500,"content":"qaq","normalized":true}])",
         {{{"qa", "[500]"}, {"aqq", "[500]"}, {"ba", "b[500]"}}}},
    Case{"a rule over two",
         R"({"type":"Replace","pattern":{"Regex":"[A-Z]+"},"content":"U"})",
         R"([{"id":500,"content":"<NEW>","normalized":true}])",
         {{{"<new>", "<new>"}, {"<XX>", "[500]"}, {"<U>b", "[500]b"}}}},
    Case{
        "nothing to normalize",
        R"(null)",
        R"([{"id":500,"content":"<a"},{"id":501,"content":"<a>","normalized":true},{"id":502,"content":"a>","normalized":true}])",
        {{{"<a>", "[500]>"}, {"a>", "[502]"}, {"b<aa>", "b[500][502]"}}}},
    Case{
        "overlap",
        R"({"type":"Lowercase"})",
        R"([{"id":500,"content":"AB","normalized":true},{"id":501,"content":"BC","normalized":true},{"id":502,"content":"ABC","normalized":true},{"id":503,"content":"Ca"}])",
        {{{"abc", "[502]"}, {"ABCA", "[502]a"}, {"AbbC", "[500][501]"}}}},
    Case{"turkish",
         R"({"type":"Lowercase"})",
         R"([{"id":500,"content":"\u0130x","normalized":true}])",
         {{{"i\xCC\x87X", "[500]"}, {"\xC4\xB0X", "[500]"}}}},
    Case{"word behind",
         R"({"type":"Lowercase"})",
         R"([{"id":500,"content":"CAT","single_word":true,"normalized":true}])",
         {{{"cat\xCC\x81", "cat\xCC\x81"}, {"cat\xC2\xBD", "[500]\xC2\xBD"}, {"_cat cat", "_cat [500]"}}}},
};

std::unique_ptr<Tokenizer> opened(const std::string& normalizer, const std::string& added_tokens) {
  Json file = byte_level_file();
  file["normalizer"] = Json::parse(normalizer);
  file["added_tokens"] = Json::parse(added_tokens);
  file["pre_tokenizer"]["use_regex"] = false;
  file["model"]["merges"] = Json::array();
  const TextFolder folder;
  folder.write("tokenizer.json", file.dump());
  auto tokenizer = open_tokenizer(folder.path());
  if (!tokenizer) qWarning("%s: %s", tokenizer.error().where.c_str(), tokenizer.error().message.c_str());
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

std::string shown(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  std::string text;
  for (const std::int32_t id : ids) text += id >= 500 ? "[" + std::to_string(id) + "]" : tokenizer.piece(id);
  return text;
}

using Ranges = std::vector<std::array<std::size_t, 2>>;

/// Where special tokens may be in the normal form of a text in which they may be at [begin, end).
Ranges ranges_behind(const char* normalizer, std::string_view text, TextRange allowed) {
  const auto made = make_normalizer(Json::parse(normalizer));
  EncodeBudget budget(text.size());
  NormalText normal({text, 0, std::span(&allowed, 1)}, true);
  if (!made || !normal.apply(made->get(), budget)) return {{99, 99}};
  Ranges ranges;
  for (const TextRange range : normal.special_allowed()) ranges.push_back({range.begin, range.end});
  return ranges;
}

bool starts_behind(const char* normalizer, std::string_view text) {
  const auto made = make_normalizer(Json::parse(normalizer));
  EncodeBudget budget(text.size());
  NormalText normal({text, 0, {}}, false);
  return made && normal.apply(made->get(), budget) && normal.at_start();
}

}  // namespace

class NormalizedTokensTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void ids_are_those_of_the_library_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < kCases.size(); ++i) QTest::newRow(kCases[i].name) << static_cast<int>(i);
  }
  void ids_are_those_of_the_library() {
    QFETCH(int, index);
    const Case& one = kCases[static_cast<std::size_t>(index)];
    const auto tokenizer = opened(one.normalizer, one.added_tokens);
    QVERIFY(tokenizer);
    for (const Sample& sample : one.samples) {
      if (sample.text == nullptr) continue;
      QCOMPARE(shown(*tokenizer, encoded(*tokenizer, sample.text, false, true)), std::string(sample.ids));
    }
  }

  void a_token_is_decoded_in_its_normal_form() {
    const auto tokenizer = opened(R"({"type":"Lowercase"})", R"([{"id":500,"content":"NEW","normalized":true}])");
    QCOMPARE(tokenizer->decode(std::vector<std::int32_t>{500}, false), std::string("new"));
    QCOMPARE(tokenizer->id_of("NEW"), std::optional<std::int32_t>(500));
  }

  void T6_special_tokens_of_a_user_stay_text_behind_a_normalizer() {
    constexpr const char* kToken = R"([{"id":500,"content":"<END>","normalized":true,"special":true}])";
    for (const char* normalizer : {R"({"type":"Lowercase"})", R"({"type":"NFKC"})", R"({"type":"BertNormalizer"})",
                                   R"({"type":"Replace","pattern":{"String":"aa"},"content":"bcd"})"}) {
      const auto tokenizer = opened(normalizer, kToken);
      const std::vector<TextSpan> spans = {{"<END>aa", true}, {"\xE4\xB8\x96<END>aa<EN", false}, {"D><END>", true}};
      const auto ids = encoded(*tokenizer, spans);
      QCOMPARE(std::count(ids.begin(), ids.end(), 500), 2);
      QVERIFY(ids.front() == 500 && ids.back() == 500);
      QVERIFY(shown(*tokenizer, encoded(*tokenizer, "a<END>", false, false)).find("[500]") == std::string::npos);
    }
  }

  void ranges_move_with_the_text_data() {
    QTest::addColumn<QString>("normalizer");
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<int>("begin");
    QTest::addColumn<int>("end");
    QTest::addColumn<int>("new_begin");
    QTest::addColumn<int>("new_end");
    QTest::newRow("as long") << R"({"type":"Lowercase"})" << QByteArray("ABcd") << 1 << 3 << 1 << 3;
    QTest::newRow("longer characters") << R"({"type":"Lowercase"})"
                                       << QByteArray(
                                              "\xC4\xB0"
                                              "b")
                                       << 2 << 3 << 3 << 4;
    QTest::newRow("shorter ones") << R"({"type":"Lowercase"})"
                                  << QByteArray(
                                         "a\xE2\x84\xAA"
                                         "b")
                                  << 4 << 5 << 2 << 3;
    QTest::newRow("a prefix") << R"({"type":"Prepend","prepend":"xy"})" << QByteArray("abc") << 1 << 2 << 3 << 4;
    QTest::newRow("a prefix of the range")
        << R"({"type":"Prepend","prepend":"xy"})" << QByteArray("abc") << 0 << 2 << 0 << 4;
    QTest::newRow("stripped") << R"({"type":"Strip"})" << QByteArray("  ab  ") << 2 << 5 << 0 << 2;
    QTest::newRow("replaced") << R"({"type":"Replace","pattern":{"String":"b"},"content":"123"})" << QByteArray("abc") << 1
                              << 2 << 1 << 4;
    QTest::newRow("replaced over an end") << R"({"type":"Replace","pattern":{"String":"bc"},"content":"123"})"
                                          << QByteArray("abcd") << 2 << 4 << 4 << 5;
    QTest::newRow("composed over an end") << R"({"type":"NFC"})"
                                          << QByteArray(
                                                 "ae\xCC\x81"
                                                 "b")
                                          << 2 << 5 << 3 << 4;
    QTest::newRow("taken apart") << R"({"type":"NFD"})"
                                 << QByteArray(
                                        "\xC3\xA9"
                                        "b\xC3\xA9")
                                 << 2 << 5 << 3 << 7;
    QTest::newRow("one after the other")
        << R"({"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"},{"type":"Prepend","prepend":"_"}]})"
        << QByteArray(
               "\xEF\xAC\x81"
               "A")
        << 3 << 4 << 3 << 4;
  }
  void ranges_move_with_the_text() {
    QFETCH(QString, normalizer);
    QFETCH(QByteArray, text);
    QFETCH(int, begin);
    QFETCH(int, end);
    QFETCH(int, new_begin);
    QFETCH(int, new_end);
    const Ranges found = ranges_behind(qPrintable(normalizer), text.toStdString(),
                                       {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)});
    QCOMPARE(found.size(), std::size_t{1});
    QCOMPARE(static_cast<int>(found[0][0]), new_begin);
    QCOMPARE(static_cast<int>(found[0][1]), new_end);
  }

  void a_text_starts_where_its_first_character_stays() {
    QVERIFY(starts_behind("null", "a"));
    QVERIFY(!starts_behind("null", ""));
    QVERIFY(starts_behind(R"({"type":"Prepend","prepend":"x"})", "a"));
    QVERIFY(starts_behind(R"({"type":"NFC"})", "e\xCC\x81"));
    QVERIFY(!starts_behind(R"({"type":"Strip"})", " a"));
    QVERIFY(!starts_behind(R"({"type":"Replace","pattern":{"String":"q"},"content":""})", "qa"));
    QVERIFY(
        !starts_behind(R"({"type":"Sequence","normalizers":[{"type":"Strip"},{"type":"Prepend","prepend":"x"}]})", " a"));
  }
};

LATHE_TEST(NormalizedTokensTest)

}  // namespace normalized_tokens_test
#include "normalized_tokens_test.moc"
