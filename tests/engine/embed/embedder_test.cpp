// SPDX-License-Identifier: Apache-2.0
// Vectors of texts against transformers and the pooling of sentence-transformers (tests/fixtures/embeddings).
#include "engine/api/embed.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "engine/serve/opened_model.h"
#include "kernels/api/backend.h"
#include "tests/support/gguf_copy.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/verify_has.h"
#include "tests/support/written_families.h"

namespace embedder_test {

using namespace lathe;
using namespace lathe::engine;
using namespace lathe::tests;

namespace {

constexpr double kTolerance = 1e-5;

std::string fixture(const std::string& path) { return source_path("tests/fixtures/" + path); }

EngineOptions options_for(const std::string& model, const std::string& isa = {}) {
  EngineOptions options;
  options.model = fixture(model);
  options.dtype = "float32";
  options.isa = isa;
  return options;
}

std::unique_ptr<Embedder> open(const EngineOptions& options) {
  auto embedder = open_embedder(options);
  if (!embedder) qCritical("%s: %s", embedder.error().where.c_str(), embedder.error().message.c_str());
  return embedder ? std::move(*embedder) : nullptr;
}

double largest_error(const std::vector<float>& got, const std::vector<float>& want) {
  double largest = got.size() == want.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(got[i]) - want[i]));
  }
  return largest;
}

}  // namespace

class EmbedderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void vectors_are_those_of_transformers_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("reference");
    QTest::addColumn<QString>("isa");
    for (const std::string& isa : kernels::cpu_isas()) {
      for (const char* name : {"bert", "bert-plain", "roberta", "xlm-roberta"}) {
        QTest::addRow("%s, %s", name, isa.c_str())
            << QString("embeddings/%1").arg(name) << QString("embeddings/%1/reference.json").arg(name) << isa.c_str();
      }
      QTest::addRow("qwen2, %s", isa.c_str()) << "families/qwen2"
                                              << "embeddings/qwen2.json" << isa.c_str();
    }
  }
  void vectors_are_those_of_transformers() {
    QFETCH(QString, model);
    QFETCH(QString, reference);
    QFETCH(QString, isa);
    const auto embedder = open(options_for(model.toStdString(), isa.toStdString()));
    QVERIFY(embedder != nullptr);
    const Json answers = read_json_file(fixture(reference.toStdString()));
    QCOMPARE(answers.size(), std::size_t{3});
    for (const Json& answer : answers) {
      const auto vector = embedder->embed(answer.at("ids").get<std::vector<std::int32_t>>());
      QVERIFY(vector.has_value());
      const double error = largest_error(*vector, answer.at("embedding").get<std::vector<float>>());
      QVERIFY2(error <= kTolerance, qPrintable(QString::number(error)));
    }
  }

  /// Made by llama.cpp's converter. Of length 1, whatever the folder says: the files have no place for that.
  void vectors_of_gguf_files_are_those_of_the_folder() {
    for (const std::string name : {"bert", "xlm-roberta"}) {
      const auto embedder = open(options_for("gguf/" + name + ".gguf"));
      QVERIFY(embedder != nullptr);
      QVERIFY(embedder->info().model.warnings.empty());
      for (const Json& answer : read_json_file(fixture("embeddings/" + name + "/reference.json"))) {
        auto want = answer.at("embedding").get<std::vector<float>>();
        double squares = 0;
        for (const float x : want) squares += static_cast<double>(x) * x;
        for (float& x : want) x /= static_cast<float>(std::sqrt(squares));
        const auto vector = embedder->embed(answer.at("ids").get<std::vector<std::int32_t>>());
        QVERIFY(vector.has_value());
        QVERIFY2(largest_error(*vector, want) <= kTolerance, name.c_str());
      }
    }
  }

  void a_gguf_file_says_how_to_pool() {
    const QTemporaryDir made;
    const std::string file = made.filePath("pooled.gguf").toStdString();
    const auto pooled = [&](std::optional<std::uint32_t> number) {
      GgufCopy(gguf_path("bert")).set("bert.pooling_type", number).write(file);
      EngineOptions options;
      options.model = file;
      return open_embedder(options);
    };
    QVERIFY(pooled({}).value()->info().pooling == Pooling::mean);
    QVERIFY(pooled(0).value()->info().pooling == Pooling::mean);
    QVERIFY(pooled(2).value()->info().pooling == Pooling::cls);
    QVERIFY(pooled(3).value()->info().pooling == Pooling::last);
    const auto of_pairs = pooled(4);
    QVERIFY(!of_pairs && of_pairs.error().code == ErrorCode::model_refused);
    VERIFY_HAS(of_pairs.error().where, "bert.pooling_type");
  }

  void the_folder_says_how_to_pool() {
    const auto bert = open(options_for("embeddings/bert"));
    QVERIFY(bert && bert->info().pooling == Pooling::mean && !bert->info().normalises);
    const auto roberta = open(options_for("embeddings/xlm-roberta"));
    QVERIFY(roberta && roberta->info().pooling == Pooling::cls && roberta->info().normalises);
    const auto plain = open(options_for("embeddings/bert-plain"));
    QVERIFY(plain && plain->info().pooling == Pooling::mean && plain->info().normalises);
    const auto decoder = open(options_for("families/qwen2"));
    QVERIFY(decoder && decoder->info().pooling == Pooling::last && decoder->info().normalises);
    QCOMPARE(decoder->info().n_dimensions, std::int64_t{48});
  }

  /// A causal model may read a text in parts; the vector is the same.
  void a_text_in_parts_has_the_same_vector() {
    const Json answer = read_json_file(fixture("embeddings/qwen2.json"))[2];
    EngineOptions options = options_for("families/qwen2");
    const auto whole = open(options)->embed(answer.at("ids").get<std::vector<std::int32_t>>());
    options.block_size = 4;
    const auto in_blocks = open(options)->embed(answer.at("ids").get<std::vector<std::int32_t>>());
    QVERIFY(whole && in_blocks);
    QCOMPARE(*whole, *in_blocks);
  }

  void quantized_weights_give_a_near_vector() {
    const Json answer = read_json_file(fixture("embeddings/xlm-roberta/reference.json"))[1];
    EngineOptions options = options_for("embeddings/xlm-roberta");
    options.quantization = "int8_g32";
    const auto embedder = open(options);
    QVERIFY(embedder != nullptr);
    const auto vector = embedder->embed(answer.at("ids").get<std::vector<std::int32_t>>());
    QVERIFY(vector.has_value());
    const auto want = answer.at("embedding").get<std::vector<float>>();
    double product = 0;
    for (std::size_t i = 0; i < want.size(); ++i) product += static_cast<double>((*vector)[i]) * want[i];
    QVERIFY2(product > 0.99 && product < 1.01, qPrintable(QString::number(product)));
    QVERIFY(largest_error(*vector, want) > 0);
  }

  void bad_ids_are_refused_with_numbers() {
    const auto embedder = open(options_for("embeddings/xlm-roberta"));
    QVERIFY(embedder != nullptr);
    const auto message = [&](const std::vector<std::int32_t>& ids) {
      const auto vector = embedder->embed(ids);
      return vector ? std::string("accepted") : vector.error().message;
    };
    QCOMPARE(embedder->info().max_tokens, std::int64_t{126});  // the first positions are behind the row of padding
    VERIFY_HAS(message({}), "without tokens");
    VERIFY_HAS(message(std::vector<std::int32_t>(127, 5)), "127 tokens, but the model reads at most 126");
    QVERIFY(embedder->embed(std::vector<std::int32_t>(126, 5)).has_value());
    VERIFY_HAS(message({5, 96}), "token ID 96 is not in the vocabulary of 96");
    VERIFY_HAS(message({-1}), "token ID -1");
  }

  /// Ids need no tokenizer; texts say which file is missing.
  void a_folder_without_tokenizer_takes_ids() {
    const auto embedder = open(options_for("embeddings/bert"));
    QVERIFY(embedder != nullptr);
    QVERIFY(embedder->embed(std::vector<std::int32_t>{5}).has_value());
    VERIFY_HAS(embedder->tokenizer().error().message, "no tokenizer");
  }

  void an_encoder_writes_no_text() {
    const auto opened = open_model(fixture("embeddings/bert"));
    QVERIFY(!opened);
    VERIFY_HAS(opened.error().message, "lathe embed");
    const auto info = inspect_checkpoint(fixture("embeddings/bert"));
    QVERIFY(info.has_value());
    QCOMPARE(info->architecture, std::string("BertModel"));
  }

  void loading_can_be_cancelled() {
    const auto embedder = open_embedder(options_for("embeddings/bert"), [](std::int64_t) { return false; });
    QVERIFY(!embedder && embedder.error().code == ErrorCode::cancelled);
  }
};

LATHE_TEST(EmbedderTest)

}  // namespace embedder_test
#include "embedder_test.moc"
