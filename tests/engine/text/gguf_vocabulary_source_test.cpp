// SPDX-License-Identifier: Apache-2.0
// Tokenizers of folders in the arrays of GGUF files: the same ids as before.
#include <QTemporaryDir>
#include <QTest>

#include "engine/text/gguf_tokenizer.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"
#include "tests/support/tiny_model.h"
#include "tests/support/verify_has.h"

namespace gguf_vocabulary_source_test {

using namespace lathe;

namespace {

/// A tokenizer.json of WordPiece; the pieces behind the control tokens have the ids from 4 on.
engine::Json wordpiece(const std::vector<std::string>& pieces) {
  engine::Json vocabulary, added = engine::Json::array();
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    added.push_back({{"id", added.size()}, {"content", name}, {"special", true}});
    vocabulary[name] = vocabulary.size();
  }
  for (const std::string& piece : pieces) vocabulary[piece] = vocabulary.size();
  return {{"added_tokens", std::move(added)},
          {"normalizer", {{"type", "BertNormalizer"}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor", {{"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}}},
          {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}}},
          {"model", {{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", std::move(vocabulary)}}}};
}

/// A vocab.txt: every ASCII letter, digit and mark, letters within words too, and words that are longer than one.
std::string words_of_letters() {
  std::string lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (char c = '!'; c <= '~'; ++c) {
    if (c >= 'A' && c <= 'Z') continue;  // BERT's normalizer makes them small
    lines += std::string(1, c) + "\n";
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) lines += "##" + std::string(1, c) + "\n";
  }
  for (const char* word : {"the", "quick", "bro", "##wn", "lead", "##ing", "##case", "\xE4\xBD\xA0", "12", "##34"})
    lines += std::string(word) + "\n";
  return lines;
}

std::string refusal_of(const engine::Json& tokenizer) {
  const tests::TextFolder folder;
  folder.write("tokenizer.json", tokenizer.dump());
  const auto opened = engine::ModelFolder::open_files(folder.path());
  const auto vocabulary = engine::find_gguf_vocabulary(*opened, 0);
  if (vocabulary) return "was accepted";
  return vocabulary.error().where + ": " + vocabulary.error().message;
}

constexpr const char* kTexts[] = {"The quick brown fox jumps over 13 lazy dogs.",
                                  "  leading and trailing  ",
                                  "\n\n\t x",
                                  "snake_case, camelCase; 2+2=4!",
                                  "na\xC3\xAFve \xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x99\x82",
                                  "I'll've they're WE'RE 1234567"};

}  // namespace

class GgufVocabularySourceTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void ids_stay_as_they_were_data() {
    QTest::addColumn<QString>("folder");
    QTest::addColumn<QString>("model");
    QTest::newRow("demo model") << QString::fromStdString(tests::source_path("resources/demo_model")) << "llama";
    const std::pair<const char*, const char*> shared[] = {{"gpt2", "gpt2"}, {"phi-3-mini", "llama"}};
    for (const auto& [name, model] : shared) {
      const auto folder = tests::shared_path(std::string("data/tokenizers/") + name);
      QTest::newRow(name) << QString::fromStdString(folder) << model;
    }
  }
  void ids_stay_as_they_were() {
    QFETCH(QString, folder);
    QFETCH(QString, model);
    if (folder.isEmpty()) QSKIP("skipped: needs ../shared/data");
    const auto opened = engine::ModelFolder::open_files(folder.toStdString());
    QVERIFY(opened.has_value());
    const auto vocabulary = engine::find_gguf_vocabulary(*opened, 0);
    QVERIFY2(vocabulary.has_value(),
             vocabulary ? "" : (vocabulary.error().where + ": " + vocabulary.error().message).c_str());
    QVERIFY(vocabulary->has_value());
    QCOMPARE(QString::fromStdString((*vocabulary)->model), model);
    const auto meant = engine::open_tokenizer(folder.toStdString());
    const auto got = engine::make_gguf_tokenizer(**vocabulary);
    QVERIFY(meant.has_value() && got.has_value());
    for (const char* text : kTexts) QCOMPARE(*(*got)->encode(text, true, true), *(*meant)->encode(text, true, true));
    // And back into a file of a folder.
    const auto file = engine::write_vocabulary_file(**vocabulary);
    QVERIFY(file.has_value());
    const QTemporaryDir written;
    const std::string path = written.filePath(QString::fromStdString(file->name)).toStdString();
    tests::write_file(path, file->text);
    const auto back = engine::open_tokenizer(path);
    QVERIFY2(back.has_value(), back ? "" : back.error().message.c_str());
    for (const char* text : kTexts) QCOMPARE(*(*back)->encode(text, false, true), *(*meant)->encode(text, false, true));
  }

  /// BERT's own vocabulary is one of the rows where the shared folder is there.
  void words_of_bert_stay_as_they_were_data() {
    QTest::addColumn<std::string>("lines");
    QTest::newRow("letters and a few words") << words_of_letters();
    const std::string file = tests::shared_path("data/tokenizers/vectors/bert-vocab.txt");
    if (!file.empty()) QTest::newRow("bert-base-uncased") << tests::read_file(file);
  }
  void words_of_bert_stay_as_they_were() {
    QFETCH(std::string, lines);
    const tests::TextFolder folder;
    folder.write("vocab.txt", lines);
    const auto opened = engine::ModelFolder::open_files(folder.path());
    const auto vocabulary = engine::find_gguf_vocabulary(*opened, 0);
    QVERIFY2(vocabulary.has_value(), vocabulary ? "" : vocabulary.error().message.c_str());
    QCOMPARE(QString::fromStdString((*vocabulary)->model), QStringLiteral("bert"));
    const auto meant = engine::open_tokenizer(folder.path());
    const auto got = engine::make_gguf_tokenizer(**vocabulary);
    QVERIFY(meant.has_value() && got.has_value());
    QCOMPARE((*got)->vocab_size(), (*meant)->vocab_size());
    for (const char* text : kTexts) {
      QCOMPARE(*(*got)->encode(text, true, true), *(*meant)->encode(text, true, true));
      const auto ids = *(*meant)->encode(text, false, false);
      QVERIFY(!ids.empty());
      for (const std::int32_t id : ids) QCOMPARE((*got)->is_special(id), (*meant)->is_special(id));
    }
  }

  /// One that sentencepiece's mark begins would be read as the beginning of a word.
  void words_that_no_file_can_say_are_refused() {
    const std::vector<std::string> pieces = {"a", "##b"};
    QCOMPARE(refusal_of(wordpiece(pieces)), std::string("was accepted"));
    VERIFY_HAS(refusal_of(wordpiece({"a", "##\xE2\x96\x81"})), "tokenizer.json: the piece");
    engine::Json other = wordpiece(pieces);
    other["pre_tokenizer"] = {{"type", "Whitespace"}};
    VERIFY_HAS(refusal_of(other), "another pre-tokenizer than BERT's");
    other = wordpiece(pieces);
    other["normalizer"]["handle_chinese_chars"] = false;
    VERIFY_HAS(refusal_of(other), "another pre-tokenizer than BERT's");
    other = wordpiece(pieces);
    other["model"]["max_input_chars_per_word"] = 7;
    VERIFY_HAS(refusal_of(other), "another pre-tokenizer than BERT's");
    for (const char* field : {"max_input_chars_per_word", "continuing_subword_prefix", "unk_token"}) {
      other = wordpiece(pieces);
      other["model"][field] = engine::Json::array();
      VERIFY_HAS(refusal_of(other), field);
    }
    other = wordpiece(pieces);
    other["post_processor"] = nullptr;
    VERIFY_HAS(refusal_of(other), "one token before a text and one after it");
  }

  void missing_rows_are_filled_up() {
    const auto folder = engine::ModelFolder::open_files(tests::source_path("resources/demo_model"));
    const auto exact = engine::find_gguf_vocabulary(*folder, 0);
    QVERIFY(exact.has_value() && exact->has_value());
    const std::size_t n = (*exact)->tokens.size();
    const auto longer = engine::find_gguf_vocabulary(*folder, static_cast<std::int64_t>(n) + 3);
    QVERIFY(longer.has_value());
    QCOMPARE((*longer)->tokens.size(), n + 3);
    QCOMPARE((*longer)->token_type.size(), n + 3);
    QCOMPARE((*longer)->scores.size(), n + 3);
  }

  void a_folder_without_a_tokenizer_has_none() {
    const auto folder = engine::ModelFolder::open_files(tests::source_path("tests/fixtures/families/llama"));
    const auto none = engine::find_gguf_vocabulary(*folder, 0);
    QVERIFY(none.has_value() && !none->has_value());
  }
};

LATHE_TEST(GgufVocabularySourceTest)

}  // namespace gguf_vocabulary_source_test
#include "gguf_vocabulary_source_test.moc"
