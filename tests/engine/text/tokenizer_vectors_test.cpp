// SPDX-License-Identifier: Apache-2.0
// Real tokenizers against vectors that others made.
#include <QTest>

#include "engine/api/json.h"
#include "engine/api/tokenizer.h"
#include "engine/base/text_file.h"
#include "engine/text/gguf_vocabulary.h"
#include "tests/support/encoded.h"
#include "tests/support/gguf_file.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace tokenizer_vectors_test {

using namespace lathe::engine;
using lathe::tests::encoded;
using lathe::tests::shared_path;

namespace {

constexpr const char* kVectors = "data/tokenizers/vectors/ggml-vocab-";

std::string contents(const std::string& path) { return read_text_file(path, 1 << 26).value(); }

std::unique_ptr<Tokenizer> open(const std::string& path) {
  auto tokenizer = open_tokenizer(shared_path(path));
  if (!tokenizer) qWarning("%s: %s", tokenizer.error().where.c_str(), tokenizer.error().message.c_str());
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

struct Vector {
  std::string text;
  std::vector<std::int32_t> ids;
};

/// Texts between marker lines, ids one line each.
std::vector<Vector> read_vectors(const std::string& name) {
  const std::string marker = "\n__ggml_vocab_test__\n";
  std::string texts = contents(shared_path(kVectors + name + ".gguf.inp"));
  std::istringstream lines(contents(shared_path(kVectors + name + ".gguf.out")));
  std::vector<Vector> vectors;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = std::min(texts.find(marker), texts.size());
    Vector vector{texts.substr(0, end), {}};
    std::istringstream numbers(line);
    for (std::int32_t id = 0; numbers >> id;) vector.ids.push_back(id);
    vectors.push_back(std::move(vector));
    texts.erase(0, std::min(end + marker.size(), texts.size()));
  }
  return vectors;
}

int n_wrong(const Tokenizer& tokenizer, const std::string& name) {
  int wrong = 0;
  for (const Vector& vector : read_vectors(name)) {
    if (encoded(tokenizer, vector.text, false, false) != vector.ids) ++wrong;
    if (tokenizer.decode(vector.ids, false) != vector.text) ++wrong;
  }
  return wrong;
}

/// The ids of a long text, with what goes around it or without.
void compare_long_text(const Tokenizer& tokenizer, const std::string& file, bool gives_text_back = true) {
  const auto json = parse_json(contents(shared_path("data/tokenizers/vectors/" + file)), "vectors");
  QVERIFY(json.has_value());
  const auto expected = json->at("token_ids").get<std::vector<std::int32_t>>();
  const auto bare = encoded(tokenizer, json->at("text").get<std::string>(), false, false);
  const auto whole = encoded(tokenizer, json->at("text").get<std::string>(), true, false);
  QVERIFY(expected == whole || expected == bare);
  if (!gives_text_back) return;
  QCOMPARE(tokenizer.decode(expected, false), json->at("decoded_text").get<std::string>());
}

}  // namespace

class TokenizerVectorsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void llama2_sentencepiece() {
    SKIP_WITHOUT_SHARED("data/tokenizers/llama-2/tokenizer.model");
    const auto t = open("data/tokenizers/llama-2/tokenizer.model");
    QVERIFY(t);
    QVERIFY(read_vectors("llama-spm").size() >= 46);
    QCOMPARE(n_wrong(*t, "llama-spm"), 0);
  }
  void phi3_byte_fallback() {
    SKIP_WITHOUT_SHARED("data/tokenizers/phi-3-mini/tokenizer.json");
    const auto t = open("data/tokenizers/phi-3-mini");
    QVERIFY(t);
    QCOMPARE(n_wrong(*t, "phi-3"), 0);
  }
  void gpt2_byte_level() {
    SKIP_WITHOUT_SHARED("data/tokenizers/gpt2/tokenizer.json");
    const auto t = open("data/tokenizers/gpt2");
    QVERIFY(t);
    // The file has tokens for runs of spaces (from id 50257 on) which the vectors' vocabulary lacks: those texts are left
    // out.
    int n_same = 0;
    for (const Vector& vector : read_vectors("gpt-2")) {
      const auto ids = encoded(*t, vector.text, false, false);
      QCOMPARE(t->decode(ids, false), vector.text);
      if (std::any_of(ids.begin(), ids.end(), [](std::int32_t id) { return id >= 50257; })) continue;
      QVERIFY(ids == vector.ids);
      ++n_same;
    }
    QVERIFY(n_same >= 39);
  }
  void llama2_long_text() {
    SKIP_WITHOUT_SHARED("data/tokenizers/vectors/llama_encoded.json");
    const auto t = open("data/tokenizers/llama-2/tokenizer.model");
    const auto json = parse_json(contents(shared_path("data/tokenizers/vectors/llama_encoded.json")), "vectors");
    QVERIFY(json.has_value());
    const auto expected = json->at("token_ids").get<std::vector<std::int32_t>>();
    QVERIFY(encoded(*t, json->at("text").get<std::string>(), expected.front() == 1, false) == expected);
  }
  void long_texts_of_every_kind_data() {
    QTest::addColumn<QString>("tokenizer");
    QTest::addColumn<QString>("vectors");
    QTest::newRow("gpt-2") << "gpt2" << "gpt2_encoded_tokens.json";
    QTest::newRow("llama 3, a rank file") << "llama-3/tokenizer.model" << "llama_3.2_encoded.json";
    QTest::newRow("t5, unigram") << "t5-small" << "t5_base_encoded.json";
  }
  void long_texts_of_every_kind() {
    QFETCH(QString, tokenizer);
    QFETCH(QString, vectors);
    SKIP_WITHOUT_SHARED("data/tokenizers/vectors/" + vectors.toStdString());
    const auto t = open("data/tokenizers/" + tokenizer.toStdString());
    QVERIFY(t);
    compare_long_text(*t, vectors.toStdString());
  }
  void bert_from_lines() {
    SKIP_WITHOUT_SHARED("data/tokenizers/vectors/bert-vocab.txt");
    const auto t = open("data/tokenizers/vectors/bert-vocab.txt");
    QVERIFY(t);
    // Its text was cleaned up once more as a whole, which no decoding piece by piece can do.
    compare_long_text(*t, "bert_uncased_encoded.json", false);
  }
  void byte_level_without_tokenizer_json_data() {
    QTest::addColumn<QString>("tokenizer");
    QTest::addColumn<QString>("vectors");
    QTest::newRow("llama 3, a rank file") << "llama-3/tokenizer.model" << "llama-bpe";
    QTest::newRow("qwen, a rank file") << "qwen2/qwen.tiktoken" << "qwen2";
    QTest::newRow("qwen 2, vocabulary and merges") << "qwen2" << "qwen2";
  }
  void byte_level_without_tokenizer_json() {
    QFETCH(QString, tokenizer);
    QFETCH(QString, vectors);
    SKIP_WITHOUT_SHARED("data/tokenizers/" + tokenizer.toStdString());
    const auto t = open("data/tokenizers/" + tokenizer.toStdString());
    QVERIFY(t);
    QVERIFY(read_vectors(vectors.toStdString()).size() >= 46);
    QCOMPARE(n_wrong(*t, vectors.toStdString()), 0);
  }
  void vocabularies_of_gguf_files_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"llama-spm", "phi-3", "gpt-2", "deepseek-llm", "bert-bge"}) QTest::newRow(name) << name;
  }
  void vocabularies_of_gguf_files() {
    QFETCH(QString, name);
    const std::string path = "data/tokenizers/vocab-gguf/ggml-vocab-" + name.toStdString() + ".gguf";
    SKIP_WITHOUT_SHARED(path);
    const auto t = make_gguf_tokenizer(lathe::tests::read_gguf_vocabulary(shared_path(path)));
    QVERIFY2(t.has_value(), t ? "" : t.error().message.c_str());
    const auto vectors = read_vectors(name.toStdString());
    QVERIFY(vectors.size() >= 46);
    for (const Vector& vector : vectors) {
      QCOMPARE(encoded(**t, vector.text, false, false), vector.ids);
      if (name != "bert-bge") QCOMPARE((*t)->decode(vector.ids, false), vector.text);
    }
  }
  void L17_a_damaged_file_is_refused_with_the_merge() {
    SKIP_WITHOUT_SHARED("data/tokenizers/llama-2/tokenizer.json");
    const auto t = open_tokenizer(shared_path("data/tokenizers/llama-2/tokenizer.json"));
    QVERIFY(!t);
    QCOMPARE(t.error().where, std::string("tokenizer.json: model.merges[18917]"));
  }
  void the_trained_models_give_the_reference_prompts_data() {
    QTest::addColumn<QString>("model");
    QTest::newRow("tokenizer.model") << "data/models/stories260K-hf";
    QTest::newRow("tokenizer.json") << "data/models/TinyStories-656K-hf";
  }
  void the_trained_models_give_the_reference_prompts() {
    QFETCH(QString, model);
    SKIP_WITHOUT_SHARED(model.toStdString() + "/reference_greedy.json");
    const auto t = open(model.toStdString());
    QVERIFY(t);
    const auto json = parse_json(contents(shared_path(model.toStdString() + "/reference_greedy.json")), "reference");
    QVERIFY(json.has_value() && !(*json)["runs"].empty());
    for (const Json& run : (*json)["runs"]) {
      QVERIFY(encoded(*t, run["prompt"].get<std::string>(), true, false) ==
              run["prompt_ids"].get<std::vector<std::int32_t>>());
      auto ids = run["prompt_ids"].get<std::vector<std::int32_t>>();
      for (const Json& id : run["generated_ids"]) ids.push_back(id.get<std::int32_t>());
      QCOMPARE(t->decode(ids, true), run["text"].get<std::string>());
    }
  }
  void mistral_models_open() {
    SKIP_WITHOUT_SHARED("data/tokenizers/mistral/v3.tokenizer.model");
    for (const char* version : {"v1", "v2", "v3", "v7"}) {
      const auto t = open(std::string("data/tokenizers/mistral/") + version + ".tokenizer.model");
      QVERIFY(t);
      const std::string text = "Hello [INST] w\xC3\xB6rld </s>\n";
      QCOMPARE(t->decode(encoded(*t, text, true, false), true), text);
      for (const std::int32_t id : encoded(*t, text, false, false)) QVERIFY(!t->is_special(id));
    }
  }
};

LATHE_TEST(TokenizerVectorsTest)

}  // namespace tokenizer_vectors_test
#include "tokenizer_vectors_test.moc"
