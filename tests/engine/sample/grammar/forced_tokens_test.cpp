// SPDX-License-Identifier: Apache-2.0
// Forced tokens are the tokenizer's own, never change what was given, and stay open where another token could join.
#include <QObject>
#include <QtTest>

#include "engine/api/json.h"
#include "engine/sample/grammar/forced_tokens.h"
#include "tests/support/grammar_run.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace forced_tokens_test {

using namespace lathe::engine::grammar;
using namespace lathe::tests;
using lathe::engine::Result;
using lathe::engine::Tokenizer;

namespace {

/// Bytes and words; a text is cut into the longest words from its beginning.
class WordTokenizer final : public ByteTokenizer {
 public:
  explicit WordTokenizer(std::vector<std::string> words, bool adds_space = false)
      : words_(std::move(words)), adds_space_(adds_space) {}
  std::int32_t vocab_size() const override { return kVocabSize + static_cast<std::int32_t>(words_.size()); }
  bool is_special(std::int32_t id) const override { return id < kVocabSize && ByteTokenizer::is_special(id); }
  std::string piece(std::int32_t id) const override {
    return id < kVocabSize ? ByteTokenizer::piece(id) : words_[static_cast<std::size_t>(id - kVocabSize)];
  }
  std::string decode_bytes(std::int32_t id, bool first) const override {
    const std::string text = piece(id);
    return first && adds_space_ && text == " " ? std::string() : text;
  }
  Result<std::vector<std::int32_t>> encode(std::string_view given, bool, bool) const override {
    std::string text = (adds_space_ ? " " : "") + std::string(given);
    std::vector<std::int32_t> ids;
    for (std::size_t at = 0; at < text.size();) {
      auto id = static_cast<std::int32_t>(static_cast<unsigned char>(text[at]));
      std::size_t size = 1;
      for (std::size_t i = 0; i < words_.size(); ++i) {
        if (words_[i].size() <= size || text.compare(at, words_[i].size(), words_[i]) != 0) continue;
        id = kVocabSize + static_cast<std::int32_t>(i);
        size = words_[i].size();
      }
      ids.push_back(id);
      at += size;
    }
    return ids;
  }

 private:
  std::vector<std::string> words_;
  bool adds_space_ = false;
};

MatcherParts parts_of(const Tokenizer& tokenizer) {
  return {std::make_shared<const Vocabulary>(tokenizer, tokenizer.vocab_size()), std::make_shared<TokenSetCache>()};
}

/// "na|me", control tokens as their names.
std::string joined(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  std::string text;
  for (const std::int32_t id : ids) text += (text.empty() ? "" : "|") + tokenizer.piece(id);
  return text;
}

}  // namespace

class ForcedTokensTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_tokens_are_those_of_the_tokenizer_data();
  void the_tokens_are_those_of_the_tokenizer();
  void a_tokenizer_that_adds_a_space_is_read_behind_a_break();
  void tokens_that_are_masked_end_the_stretch();
  void forced_tokens_are_among_those_that_the_mask_allows();
  void long_texts_come_in_parts();
  void tokenizers_of_models_keep_their_tokens_data();
  void tokenizers_of_models_keep_their_tokens();
};

void ForcedTokensTest::the_tokens_are_those_of_the_tokenizer_data() {
  QTest::addColumn<QByteArray>("constraint");
  QTest::addColumn<QStringList>("words");
  QTest::addColumn<QByteArray>("before");
  QTest::addColumn<QByteArray>("expected");
  const auto row = [](const char* name, const char* constraint, const QStringList& words, const char* before,
                      const char* expected) {
    QTest::newRow(name) << QByteArray(constraint) << words << QByteArray(before) << QByteArray(expected);
  };
  row("words", R"({"regex": "namesake"})", {"na", "name", "sake"}, "", "name|sake");
  row("no choice is no stretch", R"({"regex": "[ab]c"})", {"ac"}, "", "");
  row("ends at a choice", R"({"regex": "ab[cd]ef"})", {"ab", "ef"}, "", "ab");
  row("goes on behind a choice", R"({"regex": "ab[cd]ef"})", {"ab", "ef"}, "abc", "ef");
  row("ends where the text may end", R"({"regex": "ab(cd)?"})", {"ab", "cd"}, "", "ab");
  row("the end of the text settles all", R"({"regex": "names"})", {"name", "sx"}, "", "name|s");
  row("a token that goes on leaves its beginning open", R"({"regex": "name[a-z]x"})", {"name", "mex"}, "", "");
  row("a token that may not go on leaves nothing open", R"({"regex": "name[0-9]x"})", {"name", "mex"}, "", "name");
  row("only what it covers stays open", R"({"regex": "namesake[a-z]"})", {"name", "sake", "kez"}, "", "name");
  row("a token across the end of a whole token", R"({"regex": "ab\":( |\n)x"})", {"ab", "\":", "\": "}, "", "ab");
  row("the seam does not join", R"({"regex": "[a-z]bcd"})", {"ab", "bcd"}, "a", "bcd");
  row("what was given gives the context", R"({"regex": "[a-z]bcd"})", {"cd", "ab"}, "q", "b|cd");
  row("characters are whole", R"({"choice": ["aé", "aè"]})", {}, "", "a");
  row("many characters", R"({"choice": ["日本語"]})", {"日本"}, "", "日本|\xE8|\xAA|\x9E");
  row("a control token",
      R"({"structural_tag": {"format": {"type": "sequence", "elements": [)"
      R"({"type": "const_string", "value": "abcd"}, {"type": "token", "token": 262},)"
      R"({"type": "const_string", "value": "cd"}]}}})",
      {"ab", "cd"}, "", "ab|cd|<|end|>|cd");
  row("one of two control tokens",
      R"({"structural_tag": {"format": {"type": "sequence", "elements": [)"
      R"({"type": "const_string", "value": "ab"}, {"type": "or", "elements": [)"
      R"({"type": "token", "token": 262}, {"type": "token", "token": 258}]}]}}})",
      {"ab"}, "", "ab");
  row("keys", R"({"whitespace": "none", "json": {"properties": {"name": {"type": "integer"}}, "required": ["name"]}})",
      {"{\"", "name", "\":"}, "", "{\"|name|\":");
  row("keys that a number joins",
      R"({"whitespace": "none", "json": {"properties": {"name": {"type": "integer"}}, "required": ["name"]}})",
      {"{\"", "name", "\":", ":1"}, "", "{\"|name");
}

void ForcedTokensTest::the_tokens_are_those_of_the_tokenizer() {
  QFETCH(QByteArray, constraint);
  QFETCH(QStringList, words);
  QFETCH(QByteArray, before);
  QFETCH(QByteArray, expected);
  std::vector<std::string> list;
  for (const QString& word : words) list.push_back(word.toStdString());
  const WordTokenizer tokenizer(list);
  Matcher matcher = matcher_of(constraint.toStdString(), parts_of(tokenizer));
  QVERIFY(before.isEmpty() || matcher.accept_bytes(before.toStdString()));
  const auto mask = matcher.mask().words;
  QCOMPARE(joined(tokenizer, forced_tokens(matcher, tokenizer, before.toStdString(), {})), expected.toStdString());
  QVERIFY(matcher.mask().words == mask);
}

void ForcedTokensTest::a_tokenizer_that_adds_a_space_is_read_behind_a_break() {
  const WordTokenizer tokenizer({"name", " name"}, true);
  Matcher matcher = matcher_of(R"({"regex": "names"})", parts_of(tokenizer));
  QCOMPARE(joined(tokenizer, forced_tokens(matcher, tokenizer, "", {})), std::string("name|s"));
}

void ForcedTokensTest::tokens_that_are_masked_end_the_stretch() {
  const WordTokenizer tokenizer({"ab", "cd", "ef"});
  Matcher matcher = matcher_of(R"({"regex": "abcdef"})", parts_of(tokenizer));
  const std::int32_t cd = ByteTokenizer::kVocabSize + 1;
  QCOMPARE(joined(tokenizer, forced_tokens(matcher, tokenizer, "", {&cd, 1})), std::string("ab"));
}

/// Random strings as tokens, which overlap in every way.
void ForcedTokensTest::forced_tokens_are_among_those_that_the_mask_allows() {
  std::vector<std::string> words;
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) {
    std::string word;
    for (auto n = 2 + random() % 3; n > 0; --n) word += "abn\":,"[random() % 6];
    words.push_back(word);
  }
  const WordTokenizer tokenizer(words);
  const MatcherParts parts = parts_of(tokenizer);
  int n_forced = 0;
  for (const char* constraint :
       {R"({"regex": "(abnab[ab]nn\":,b)*"})", R"({"whitespace": "none", "json": {"properties": {"ban": {"type": "boolean"},
          "nab": {"type": "string"}, "anna": {"enum": ["a", "ab"]}}, "required": ["ban", "nab", "anna"]}})"}) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      Matcher matcher = matcher_of(constraint, parts);
      std::string text;
      for (int i = 0; i < 40; ++i) {
        const auto forced = forced_tokens(matcher, tokenizer, text, {});
        std::vector<std::int32_t> next = forced;
        const auto allowed = tokens_of(matcher.mask());
        if (allowed.empty()) break;
        if (next.empty()) next.push_back(allowed[random() % allowed.size()]);
        for (const std::int32_t id : next) {
          const auto now = tokens_of(matcher.mask());
          QVERIFY(std::find(now.begin(), now.end(), id) != now.end());
          QVERIFY(matcher.accept(id));
          text += tokenizer.piece(id);
        }
        n_forced += static_cast<int>(forced.size());
      }
    }
  }
  QVERIFY(n_forced > 100);
}

void ForcedTokensTest::long_texts_come_in_parts() {
  const WordTokenizer tokenizer({"ab"});
  Matcher matcher = matcher_of(R"({"regex": "(ab){2000}"})", parts_of(tokenizer));
  std::size_t n = 0;
  while (n < 2000) {
    const auto ids = forced_tokens(matcher, tokenizer, "", {});
    QVERIFY(!ids.empty() && ids.size() <= kMaxForcedBytes / 2);
    for (const std::int32_t id : ids) QVERIFY(matcher.accept(id));
    n += ids.size();
  }
  QVERIFY(matcher.must_end());
}

void ForcedTokensTest::tokenizers_of_models_keep_their_tokens_data() {
  QTest::addColumn<QString>("path");
  QTest::addColumn<QByteArray>("before");
  QTest::addColumn<QByteArray>("text");
  std::vector<std::string> paths = {source_path("resources/demo_model")};
  for (const char* name : {"gpt2", "llama-2/tokenizer.model", "phi-3-mini"}) {
    const std::string path = shared_path("data/tokenizers/" + std::string(name));
    if (!path.empty()) paths.push_back(path);
  }
  for (const std::string& path : paths) {
    for (const auto& [before, text] : {std::pair{"", R"({"first_name": "Ada", "last_name": "Lovelace"})"},
                                       std::pair{R"({"a": 12,)", R"( "temperature_celsius": true})"},
                                       std::pair{"so", " the quick brown fox, 1,024 times; über\n\n  alles"}}) {
      const QString name = QString::fromStdString(path);
      QTest::newRow(qPrintable(QString("%1 %2").arg(name.section('/', -2), text)))
          << name << QByteArray(before) << QByteArray(text);
    }
  }
}

/// The whole text is one choice, so the forced tokens are the rest of the whole text's own.
void ForcedTokensTest::tokenizers_of_models_keep_their_tokens() {
  QFETCH(QString, path);
  QFETCH(QByteArray, before);
  QFETCH(QByteArray, text);
  const auto tokenizer = lathe::engine::open_tokenizer(path.toStdString());
  QVERIFY2(tokenizer.has_value(), tokenizer ? "" : tokenizer.error().message.c_str());
  const MatcherParts parts = parts_of(**tokenizer);
  const std::string whole = (before + text).toStdString();
  Matcher matcher =
      matcher_of(lathe::engine::dump_json(lathe::engine::Json{{"choice", lathe::engine::Json::array({whole})}}), parts);
  QVERIFY(before.isEmpty() || matcher.accept_bytes(before.toStdString()));
  const auto forced = forced_tokens(matcher, **tokenizer, before.toStdString(), {});
  std::string read;
  for (const std::int32_t id : forced) read += parts.vocabulary->text_of(id);
  QCOMPARE(read, text.toStdString());
  const auto own = (*tokenizer)->encode(before.isEmpty() ? "\n" + whole : whole, false, false).value();
  QVERIFY(forced.size() <= own.size() && std::equal(forced.begin(), forced.end(), own.end() - std::ssize(forced)));
}

LATHE_TEST(ForcedTokensTest)

}  // namespace forced_tokens_test
#include "forced_tokens_test.moc"
