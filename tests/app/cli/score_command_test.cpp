// SPDX-License-Identifier: Apache-2.0
// lathe score: scores of a cross-encoder, of a decoder that judges by two tokens, and of vectors, for scripts.
#include <QtTest>
#include <cmath>

#include "engine/api/json.h"
#include "tests/support/cli_run.h"
#include "tests/support/encoder_folder.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace score_command_test {

using lathe::engine::Json;
using namespace lathe::tests;

class ScoreCommandTest : public QObject {
  Q_OBJECT
  const EncoderFolder pairs_{"bert-pair"}, vectors_;

  CliRun run(const EncoderFolder& folder, std::vector<std::string> more, const std::string& input = {}) const {
    more.insert(more.begin(), {"score", "--model", folder.path(), "--quiet", "--dtype", "float32"});
    return run_cli(more, input);
  }

 private Q_SLOTS:
  void a_cross_encoder_scores_documents_in_their_order() {
    const CliRun done = run(pairs_, {"--query", "t5 t6", "--document", "t7", "--document", "t8 t9", "--json"});
    QVERIFY2(done.code == 0, done.err.c_str());
    const Json json = Json::parse(done.out);
    QCOMPARE(json["scores"].size(), std::size_t{2});
    QCOMPARE(json["usage"]["prompt_tokens"], 6 + 7);
    const Json second = Json::parse(run(pairs_, {"--query", "t5 t6", "--document", "t8 t9", "--json"}).out);
    QCOMPARE(second["scores"][0], json["scores"][1]);
    const Json raw = Json::parse(run(pairs_, {"--query", "t5 t6", "--document", "t7", "--logits", "--json"}).out);
    const double logit = raw["scores"][0];
    QVERIFY(std::fabs(json["scores"][0].get<double>() - 1 / (1 + std::exp(-logit))) < 1e-6);
  }

  void without_json_each_document_is_a_line() {
    const CliRun done = run(pairs_, {"--query", "t5", "--document", "t7", "--document", "t8"});
    QCOMPARE(done.code, 0);
    const QStringList lines = QString::fromStdString(done.out).split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 2);
    QVERIFY(lines[0].endsWith("\tt7") && lines[1].endsWith("\tt8"));
    const Json json = Json::parse(run(pairs_, {"--query", "t5", "--document", "t8", "--json"}).out);
    QVERIFY(std::fabs(lines[1].section('\t', 0, 0).toDouble() - json["scores"][0].get<double>()) < 1e-6);
  }

  void other_models_score_by_the_cosine_of_vectors() {
    const CliRun done = run(vectors_, {"--query", "t7 t8", "--document", "t7 t8", "--document", "t20", "--json"});
    QVERIFY2(done.code == 0, done.err.c_str());
    const Json scores = Json::parse(done.out)["scores"];
    QVERIFY(std::fabs(scores[0].get<double>() - 1) < 1e-5);
    QVERIFY(scores[1].get<double>() < 0.9999);
    VERIFY_HAS(run(vectors_, {"--query", "t7", "--document", "t8", "--logits"}).err, "no classifier");
  }

  void lines_are_answered_with_lines() {
    const CliRun done = run(pairs_, {"--batch"},
                            "{\"query\":\"t5\",\"documents\":[\"t7\",\"t8\"]}\n{\"query\":\"t5\",\"documents\":\"t8\"}\n");
    QVERIFY2(done.code == 0, done.err.c_str());
    const std::size_t end = done.out.find('\n');
    const Json first = Json::parse(done.out.substr(0, end)), second = Json::parse(done.out.substr(end + 1));
    QCOMPARE(first["scores"].size(), std::size_t{2});
    QCOMPARE(second["scores"][0], first["scores"][1]);
    VERIFY_HAS(run(pairs_, {"--batch"}, "{\"query\":\"t5\",\"documents\":[7]}\n").err, "documents[0]");
    VERIFY_HAS(run(pairs_, {"--batch"}, "{\"query\":\"t5\",\"documents\":[]}\n").err, "empty list");
    QVERIFY(run(pairs_, {"--batch"}, "7\n").code != 0);
  }

  void a_decoder_judges_by_two_tokens() {
    const EncoderFolder judge("../families/qwen3");
    const std::string overrides =
        R"({"architectures":["Qwen3ForSequenceClassification"],"classifier_from_token":["t20","t31"]})";
    VERIFY_HAS(run(judge, {"--query", "t5", "--document", "t6", "--hf-overrides", overrides}).err, "2 labels");
    VERIFY_HAS(run(judge, {"--query", "t5", "--document", "t6", "--hf-overrides", "[1]"}).err, "must be a JSON object");
    const CliRun done = run(judge, {"--query", "t5", "--document", "t6", "--json", "--hf-overrides",
                                    overrides.substr(0, overrides.size() - 1) + R"(,"is_original_qwen3_reranker":true})"});
    QVERIFY2(done.code == 0, done.err.c_str());
    const double score = Json::parse(done.out)["scores"][0];
    QVERIFY(score > 0 && score < 1);
  }

  void wrong_usage_is_refused() {
    QCOMPARE(run(pairs_, {}).code, 2);
    QCOMPARE(run(pairs_, {"--query", "a"}).code, 2);
    QCOMPARE(run(pairs_, {"--document", "a"}).code, 2);
    QCOMPARE(run(pairs_, {"--batch", "--query", "a"}).code, 2);
  }
};

LATHE_TEST(ScoreCommandTest)

}  // namespace score_command_test
#include "score_command_test.moc"
