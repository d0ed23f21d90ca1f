// SPDX-License-Identifier: Apache-2.0
// Classifiers out of rows of the output head, as Qwen3-Reranker needs one: against transformers, by overrides of config.json
// and by config.json, and refused.
#include <QObject>
#include <QtTest>
#include <cmath>

#include "tests/support/encoder_folder.h"
#include "tests/support/engine_harness.h"
#include "tests/support/gguf_copy.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/verify_has.h"

namespace token_classifier_test {

using namespace lathe;
using namespace lathe::engine;
using namespace lathe::tests;

namespace {

GenerateRequest classified(std::vector<std::int32_t> ids) {
  GenerateRequest request;
  request.prompt_token_ids = std::move(ids);
  request.source = "test";
  request.pooling = PoolingParams{.classifies = true};
  return request;
}

std::unique_ptr<Engine> load_judge(const std::string& path, const std::string& overrides) {
  EngineOptions options;
  options.model = path;
  options.dtype = "float32";
  options.hf_overrides = overrides;
  auto engine = load_engine(options);
  if (!engine) qCritical("%s: %s", engine.error().where.c_str(), engine.error().message.c_str());
  return engine ? std::move(*engine) : nullptr;
}

}  // namespace

class TokenClassifierTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Qwen3-Reranker: the logit of one token minus that of another, out of the output head.
  void a_decoder_judges_as_transformers_does() {
    const EncoderFolder folder("../families/qwen3");
    const Json config = read_json_file(folder.path() + "/config.json");
    Json overrides = {{"architectures", {"Qwen3ForSequenceClassification"}},
                      {"classifier_from_token", {"t20", "t31"}},
                      {"is_original_qwen3_reranker", true}};
    const auto open = [&] { return load_judge(folder.path(), dump_json(overrides)); };
    const auto engine = open();
    QVERIFY(engine != nullptr && engine->model().labels && !engine->model().generates);
    QVERIFY(engine->model().labels->activation == LabelActivation::sigmoid && engine->model().labels->prompt);
    const Json answers = read_json_file(source_path("tests/fixtures/embeddings/qwen3-judge.json"));
    QCOMPARE(answers.size(), std::size_t{3});
    for (const Json& answer : answers) {
      auto logits = ask(*engine, classified(answer.at("ids").get<std::vector<std::int32_t>>())).all.vector;
      QCOMPARE(logits.size(), std::size_t{1});
      QVERIFY(std::fabs(logits[0] - answer.at("logits")[0].get<float>()) <= 1e-4F);
      apply_activation(LabelActivation::sigmoid, logits);
      QVERIFY(std::fabs(logits[0] - answer.at("score").get<float>()) <= 1e-4F);
    }
    // config.json may say the same.
    const auto ids = answers[1].at("ids").get<std::vector<std::int32_t>>();
    const auto want = ask(*engine, classified(ids)).all.vector;
    Json own = config;
    own.update(overrides);
    folder.write("config.json", own.dump());
    QCOMPARE(ask(*load_judge(folder.path(), {}), classified(ids)).all.vector, want);
    folder.write("config.json", config.dump());
    // Without the difference each token is a label.
    overrides["is_original_qwen3_reranker"] = false;
    const auto labels = open();
    QVERIFY(labels != nullptr && labels->model().labels->labels.size() == 2 && !labels->model().labels->prompt);
    const auto both = ask(*labels, classified(ids)).all.vector;
    QVERIFY(std::fabs(both[1] - both[0] - want[0]) <= 1e-4F);
  }

  /// As llama.cpp's converter writes Qwen3-Reranker: pooled by rank, with rows for "yes" and "no" and the prompt.
  void a_gguf_file_that_is_pooled_by_rank_judges_too() {
    const TextFolder folder;
    const GgufFile file = opened_gguf(source_path("tests/fixtures/gguf/qwen3.gguf"));
    GgufBuilder builder;
    for (const auto& [key, value] : file.header.values()) add_value(builder, key, value);
    constexpr std::uint32_t kText = 8, kList = 9;
    builder.value("qwen3.pooling_type", 4U);
    builder.value("qwen3.classifier.output_labels", kList,
                  GgufBuilder::bytes_of(kText) + GgufBuilder::bytes_of<std::uint64_t>(2) + GgufBuilder::text("yes") +
                      GgufBuilder::text("no"));
    builder.value("tokenizer.chat_template.rerank", std::string_view("t5 {query} t6 {document} t7"));
    bool has_head = false;
    for (const GgufTensor& tensor : file.header.tensors()) has_head = has_head || tensor.name == "output.weight";
    for (const GgufTensor& tensor : file.header.tensors()) {
      const std::string bytes = bytes_of(file, tensor);
      builder.tensor(tensor.name, tensor.shape, tensor.type, bytes);
      if (tensor.name != (has_head ? "output.weight" : "token_embd.weight")) continue;
      const std::size_t row = bytes.size() / 96;
      builder.tensor("cls.output.weight", {2, tensor.shape.back()}, tensor.type,
                     bytes.substr(31 * row, row) + bytes.substr(20 * row, row));
    }
    folder.write("judge.gguf", builder.bytes());
    const EncoderFolder vocabulary("../families/qwen3");
    EngineOptions options;
    options.model = folder.path() + "/judge.gguf";
    options.tokenizer = vocabulary.path();
    options.dtype = "float32";
    const auto loaded = load_engine(options);
    QVERIFY2(loaded.has_value(), loaded ? "" : (loaded.error().where + ": " + loaded.error().message).c_str());
    Engine& engine = **loaded;
    QVERIFY(engine.model().labels && engine.model().labels->labels == std::vector<std::string>{"yes"});
    QVERIFY(engine.model().labels->activation == LabelActivation::sigmoid && engine.model().labels->prompt);
    QCOMPARE(engine.model().labels->prompt->begin, std::string("t5 "));
    QCOMPARE(engine.model().labels->prompt->before_document, std::string(" t6 "));
    QCOMPARE(engine.model().labels->prompt->end, std::string(" t7"));
    for (const Json& answer : read_json_file(source_path("tests/fixtures/embeddings/qwen3-judge.json"))) {
      const auto logits = ask(engine, classified(answer.at("ids").get<std::vector<std::int32_t>>())).all.vector;
      QVERIFY(std::fabs(logits.at(0) - answer.at("logits")[0].get<float>()) <= 1e-4F);
    }
    options.hf_overrides = "{}";
    QVERIFY(!load_engine(options));
  }

  void a_classifier_of_tokens_needs_these_tokens_data() {
    QTest::addColumn<QString>("overrides");
    QTest::addColumn<QString>("part");
    const QString family = R"({"architectures":["Qwen3ForSequenceClassification"],)";
    QTest::addRow("unknown token") << family + R"("classifier_from_token":["t20","no"]})"
                                   << "no token \"no\"";
    QTest::addRow("no list") << family + R"("classifier_from_token":"yes"})"
                             << "must be a list of tokens";
    QTest::addRow("one of two") << family + R"("classifier_from_token":["t20"],"is_original_qwen3_reranker":true})"
                                << "needs two tokens";
    QTest::addRow("no object") << "5"
                               << "must be a JSON object";
    QTest::addRow("no JSON") << "{"
                             << "must be a JSON object";
  }
  void a_classifier_of_tokens_needs_these_tokens() {
    QFETCH(QString, overrides);
    QFETCH(QString, part);
    const EncoderFolder folder("../families/qwen3");
    EngineOptions options;
    options.model = folder.path();
    options.hf_overrides = overrides.toStdString();
    const auto engine = load_engine(options);
    QVERIFY(!engine);
    VERIFY_HAS(engine.error().message, part.toStdString());
  }
};

LATHE_TEST(TokenClassifierTest)

}  // namespace token_classifier_test
#include "token_classifier_test.moc"
