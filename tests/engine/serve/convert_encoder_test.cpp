// SPDX-License-Identifier: Apache-2.0
// GGUF files of encoders that we write: vectors, texts and kind of pooling are those of the folder.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "engine/api/convert.h"
#include "engine/api/embed.h"
#include "engine/serve/opened_model.h"
#include "engine/text/gguf_tokenizer.h"
#include "tests/support/encoder_folder.h"
#include "tests/support/gguf_copy.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/verify_has.h"
#include "tests/support/written_families.h"

namespace convert_encoder_test {

using namespace lathe;
using namespace lathe::engine;
using namespace lathe::tests;

namespace {

Result<ConvertReport> convert(const std::string& from, const std::string& to, const std::string& dtype = "auto") {
  EngineOptions options;
  options.model = from;
  options.dtype = dtype;
  return convert_checkpoint(options, {.output = to}, {});
}

std::unique_ptr<Embedder> open(const std::string& model, const std::string& dtype) {
  EngineOptions options;
  options.model = model;
  options.dtype = dtype;
  auto embedder = open_embedder(options);
  if (!embedder) qCritical("%s", refusal_in(embedder).c_str());
  return embedder ? std::move(*embedder) : nullptr;
}

std::vector<float> vector_of(Embedder& embedder, int n_tokens) {
  std::vector<std::int32_t> ids;
  for (int i = 0; i < n_tokens; ++i) ids.push_back(5 + i * 7 % 90);
  return embedder.embed(ids).value();
}

constexpr const char* kPieces =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\n!\ncafe\n##s\n\xE4\xB8\x96\n#\n##1\ncaf\xC3\xA9\nCafe\n[unused0]\n";
constexpr const char* kTexts[] = {"Unable cafes caf\xC3\xA9s!",    "a \xE4\xB8\x96\xE7\x95\x8C un", "# ## #1 un##able", "",
                                  "[MASK] un [SEP]able [unused0]", "Cafe CAFE un\xCC\x81 cafe"};

}  // namespace

class ConvertEncoderTest : public QObject {
  Q_OBJECT

  QTemporaryDir made_;
  std::string path(const std::string& name) const { return made_.filePath(QString::fromStdString(name)).toStdString(); }

 private Q_SLOTS:
  void vectors_are_those_of_the_folder_data() {
    QTest::addColumn<QString>("pooling");
    QTest::addColumn<QString>("written");
    QTest::addColumn<QString>("computed");
    for (const char* pooling : {"mean", "cls", "last"}) {
      QTest::addRow("%s, as it is", pooling) << pooling << "auto"
                                             << "auto";
      QTest::addRow("%s, in f32", pooling) << pooling << "float32"
                                           << "float32";
      QTest::addRow("%s, f32 of a bf16 file", pooling) << pooling << "auto"
                                                       << "float32";
    }
  }
  void vectors_are_those_of_the_folder() {
    QFETCH(QString, pooling);
    QFETCH(QString, written);
    QFETCH(QString, computed);
    const EncoderFolder folder;
    folder.pool(pooling.toStdString(), true);
    const std::string file = path(std::string(QTest::currentDataTag()) + ".gguf");
    const auto report = convert(folder.path(), file, written.toStdString());
    QVERIFY2(report.has_value(), refusal_in(report).c_str());
    QVERIFY2(report->notes.empty(), report->notes.empty() ? "" : report->notes.front().c_str());
    const auto want = open(folder.path(), computed.toStdString()), got = open(file, computed.toStdString());
    QVERIFY(want != nullptr && got != nullptr);
    QVERIFY(got->info().pooling == want->info().pooling && got->info().max_tokens == want->info().max_tokens);
    QCOMPARE(QString::fromUtf8(name_of(got->info().pooling).data()), pooling);
    QVERIFY(got->info().model.warnings.empty());
    for (const int n_tokens : {1, 9, 70}) QVERIFY(vector_of(*got, n_tokens) == vector_of(*want, n_tokens));
  }

  /// Tensors bit by bit, and each key of the family.
  void the_file_is_that_of_the_usual_converter() {
    const std::string file = path("usual.gguf");
    QVERIFY(convert(EncoderFolder().path(), file).has_value());
    const auto got = content_of(file), want = content_of(gguf_path("bert"));
    int n_tensors = 0;
    for (const auto& [name, bytes] : want) {
      if (!name.starts_with("tensor ") && !name.starts_with("value bert.")) continue;
      QVERIFY2(got.contains(name) && got.at(name) == bytes, name.c_str());
      n_tensors += name.starts_with("tensor ") ? 1 : 0;
    }
    const auto is_tensor = [](const auto& entry) { return entry.first.starts_with("tensor "); };
    QCOMPARE(n_tensors, static_cast<int>(std::count_if(got.begin(), got.end(), is_tensor)));
  }

  void texts_are_read_as_before_data() {
    QTest::addColumn<QString>("settings");
    QTest::newRow("small letters") << "{}";
    QTest::newRow("capitals") << R"({"do_lower_case": false})";
    QTest::newRow("accents stay") << R"({"strip_accents": false})";
    QTest::newRow("capitals without accents") << R"({"do_lower_case": false, "strip_accents": true})";
  }
  void texts_are_read_as_before() {
    QFETCH(QString, settings);
    const EncoderFolder folder;
    folder.write("vocab.txt", kPieces);
    folder.write("tokenizer_config.json", settings.toStdString());
    const std::string file = path(std::string(QTest::currentDataTag()) + ".gguf");
    const auto report = convert(folder.path(), file);
    QVERIFY2(report.has_value(), refusal_in(report).c_str());
    const auto want = open_tokenizer(folder.path()), got = open_tokenizer(file);
    QVERIFY(want.has_value() && got.has_value());
    QCOMPARE((*got)->vocab_size(), 96);  // as many as embeddings have rows
    for (const char* text : kTexts) {
      for (const bool parse_special : {false, true}) {
        QCOMPARE(*(*got)->encode(text, true, parse_special), *(*want)->encode(text, true, parse_special));
      }
    }
  }

  void keys_of_the_tokenizer_are_those_that_others_look_for() {
    const EncoderFolder folder;
    folder.write("vocab.txt", kPieces);
    const std::string path_of_file = path("keys.gguf");
    QVERIFY(convert(folder.path(), path_of_file).has_value());
    const GgufFile file = opened_gguf(path_of_file);
    const GgufHeader& header = file.header;
    const auto id = [&](const std::string& key) {
      return static_cast<int>(header.integer("tokenizer.ggml." + key).value().value_or(-1));
    };
    QCOMPARE(header.text("tokenizer.ggml.model").value().value(), std::string("bert"));
    QCOMPARE(id("token_type_count"), 2);
    QCOMPARE(id("padding_token_id"), 0);
    QCOMPARE(id("unknown_token_id"), 1);
    for (const char* key : {"bos_token_id", "cls_token_id"}) QCOMPARE(id(key), 2);
    for (const char* key : {"eos_token_id", "seperator_token_id"}) QCOMPARE(id(key), 3);
    QCOMPARE(id("mask_token_id"), 4);
    QVERIFY(header.flag("tokenizer.ggml.normalizer.lowercase").value() == true);
    const auto tokens = header.texts("tokenizer.ggml.tokens").value();
    const auto types = header.integers("tokenizer.ggml.token_type").value();
    const std::vector<std::string> begin = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\xE2\x96\x81un", "able"};
    QVERIFY(std::equal(begin.begin(), begin.end(), tokens.begin()));
    QVERIFY((std::vector<std::int64_t>(types.begin(), types.begin() + 7) == std::vector<std::int64_t>{3, 3, 3, 3, 3, 1, 1}));
    QVERIFY(header.flag("bert.attention.causal").value() == false);
  }

  void a_file_becomes_itself() {
    const std::string first = path("first.gguf"), second = path("second.gguf");
    QVERIFY(convert(EncoderFolder().path(), first).has_value());
    const auto report = convert(first, second);
    QVERIFY2(report.has_value(), refusal_in(report).c_str());
    QVERIFY(content_of(second) == content_of(first));
  }

  void what_a_file_has_no_place_for_is_told() {
    const EncoderFolder folder;
    folder.write("sentence_bert_config.json", R"({"max_seq_length": 64})");
    const auto report = convert(folder.path(), path("told.gguf"));
    QVERIFY2(report.has_value(), refusal_in(report).c_str());
    QCOMPARE(report->notes.size(), std::size_t{2});
    VERIFY_HAS(report->notes.front(), "from this file have length 1");
    VERIFY_HAS(report->notes.back(), "to 64 tokens");
    const auto want = open(folder.path(), "float32"), got = open(path("told.gguf"), "float32");
    auto vector = vector_of(*want, 9);
    double squares = 0;
    for (const float x : vector) squares += static_cast<double>(x) * x;
    for (float& x : vector) x /= static_cast<float>(std::sqrt(squares));
    QVERIFY(vector_of(*got, 9) == vector);
    QVERIFY(want->info().max_tokens == 64 && got->info().max_tokens == 128);
  }

  void what_a_file_cannot_say_is_refused_data() {
    QTest::addColumn<QString>("encoder");
    QTest::addColumn<QString>("expected");
    QTest::newRow("ReLU") << "bert-plain"
                          << "hidden_act";
    QTest::newRow("RoBERTa") << "roberta"
                             << "RobertaModel cannot be written to GGUF files";
  }
  void what_a_file_cannot_say_is_refused() {
    QFETCH(QString, encoder);
    QFETCH(QString, expected);
    const EncoderFolder folder(encoder.toStdString());
    const auto report = convert(folder.path(), path("refused.gguf"));
    QVERIFY(!report.has_value() && report.error().code == ErrorCode::unsupported);
    VERIFY_HAS(report.error().message, expected.toStdString());
    QVERIFY(!QFile::exists(QString::fromStdString(path("refused.gguf"))));
  }

  void no_folder_is_made_of_an_encoder() {
    const auto report = convert(gguf_path("bert"), path("folder"));
    QVERIFY(!report.has_value() && report.error().code == ErrorCode::invalid_argument);
    VERIFY_HAS(report.error().message, ".gguf");
    QVERIFY(!QFile::exists(QString::fromStdString(path("folder"))));
  }
};

LATHE_TEST(ConvertEncoderTest)

}  // namespace convert_encoder_test
#include "convert_encoder_test.moc"
