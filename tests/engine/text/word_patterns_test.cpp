// SPDX-License-Identifier: Apache-2.0
// The ways to cut words that GGUF files name: those of the tokenizers library, for what it was given by the checkpoints.
#include "engine/text/word_patterns.h"

#include <QTest>

#include "engine/text/pretokenizer.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace word_patterns_test {

using namespace lathe::engine;

namespace {

std::vector<std::string> words_of(std::string_view name, const std::string& text) {
  const WordPattern* const pattern = find_word_pattern(name);
  if (pattern == nullptr) return {"not known"};
  TokenizerDescription description;
  description.model = Json::object();
  describe_byte_level(*pattern, description);
  const auto made = make_pretokenizer(description.pre_tokenizer);
  if (!made) return {made.error().message};
  Words all{.text = text, .ranges = {{0, text.size()}}};
  EncodeBudget budget(text.size());
  if (const auto applied = (*made)->apply(all, budget); !applied) return {applied.error().message};
  std::vector<std::string> words;
  for (const TextRange range : all.ranges) {
    if (range.end > range.begin) words.push_back(all.text.substr(range.begin, range.end - range.begin));
  }
  return words;
}

}  // namespace

class WordPatternsTest : public QObject {
  Q_OBJECT

  const Json reference_ = lathe::tests::read_json_file(lathe::tests::source_path("tests/fixtures/word_patterns/words.json"));

 private Q_SLOTS:
  void words_are_those_of_the_library_data() {
    QTest::addColumn<QString>("name");
    for (const auto& [name, words] : reference_["words"].items()) {
      QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
  }
  void words_are_those_of_the_library() {
    QFETCH(QString, name);
    const Json& wanted = reference_["words"][name.toStdString()];
    QCOMPARE(wanted.size(), reference_["texts"].size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto text = reference_["texts"][i].get<std::string>();
      const auto got = words_of(name.toStdString(), text);
      QVERIFY2(got == wanted[i].get<std::vector<std::string>>(), (text + " -> " + Json(got).dump()).c_str());
    }
  }

  void every_name_that_our_families_need_is_known_data() {
    QTest::addColumn<QString>("like");  // another name for the same
    const std::pair<const char*, const char*> names[] = {{"phi-2", "gpt-2"},
                                                         {"olmo", "gpt-2"},
                                                         {"mpt", "gpt-2"},
                                                         {"llama3", "llama-bpe"},
                                                         {"llama-v3", "llama-bpe"},
                                                         {"falcon3", "llama-bpe"},
                                                         {"pixtral", "llama-bpe"},
                                                         {"chatglm-bpe", "glm4"},
                                                         {"llama4", "gpt-4o"},
                                                         {"minimax-m2", "gpt-4o"},
                                                         {"hunyuan-dense", "deepseek-v3"},
                                                         {"smollm", "exaone"},
                                                         {"starcoder", "exaone"},
                                                         {"refact", "exaone"},
                                                         {"command-r", "exaone"},
                                                         {"gpt3-finnish", "bloom"},
                                                         {"poro-chat", "bloom"}};
    for (const auto& [name, like] : names) QTest::newRow(name) << like;
  }
  void every_name_that_our_families_need_is_known() {
    QFETCH(QString, like);
    for (const Json& text : reference_["texts"]) {
      QCOMPARE(words_of(QTest::currentDataTag(), text), words_of(like.toStdString(), text));
    }
  }

  /// llama.cpp uses the default pattern where a converter did not know the vocabulary.
  void the_default_cuts_punctuation_and_numbers() {
    QCOMPARE(words_of("default", "a 12345, x`y"), (std::vector<std::string>{"a", " ", "123", "45", ",", " x", "`", "y"}));
  }

  /// Source: llama.cpp, llama-vocab.cpp.
  void some_names_put_bos_before_a_text() {
    for (const char* name : {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "tekken"}) {
      QVERIFY2(find_word_pattern(name)->adds_bos, name);
    }
    for (const char* name : {"gpt-2", "qwen2", "gpt-4o", "glm4", "deepseek-v3", "smaug-bpe", "falcon", "default"}) {
      QVERIFY2(!find_word_pattern(name)->adds_bos, name);
    }
  }

  void a_description_finds_its_name() {
    for (const char* name : {"gpt-2", "llama-bpe", "gpt-4o", "tekken", "deepseek-v3", "starcoder", "falcon", "qwen2"}) {
      TokenizerDescription description;
      description.model = Json::object();
      describe_byte_level(*find_word_pattern(name), description);
      const WordPattern* const found = find_word_pattern(description);
      QVERIFY2(found != nullptr && found->name == name, name);
    }
  }

  void parts_of_falcon_are_its_expressions() {
    TokenizerDescription description;
    description.model = Json::object();
    description.pre_tokenizer = Json::parse(
        R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Contiguous"},
            {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
            {"type":"Digits","individual_digits":false},
            {"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavior":"Isolated","invert":false}]})");
    const WordPattern* const found = find_word_pattern(description);
    QVERIFY(found != nullptr);
    QCOMPARE(found->name, std::string_view("falcon"));
  }
};

LATHE_TEST(WordPatternsTest)

}  // namespace word_patterns_test
#include "word_patterns_test.moc"
