// SPDX-License-Identifier: Apache-2.0
// Pairs of texts in the prompt of a model that judges them, over HTTP.
#include <QtTest>
#include <algorithm>

#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace pair_prompt_test {

using namespace lathe;
using engine::Json;
using tests::HttpReply;

class PairPromptTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    tests::ServerFixture::Options options;
    options.model.labels = {.labels = {"LABEL_0"}, .activation = engine::LabelActivation::sigmoid};
    options.model.labels->prompt = {.begin = "<|user|>I: ",
                                    .before_query = "\nQ: ",
                                    .before_document = "\nD: ",
                                    .end = "<|end|>",
                                    .instruction = "find"};
    fixture_ = std::make_unique<tests::ServerFixture>(options);
  }
  void cleanup() { fixture_.reset(); }

  void a_pair_is_put_into_the_prompt() {
    QCOMPARE(post("/score", {{"text_1", "a"}, {"text_2", "b"}}).status, 200);
    QCOMPARE(prompt(), std::string("<|user|>I: find\nQ: a\nD: b<|end|>"));
  }

  void T6_control_tokens_in_texts_stay_text() {
    QCOMPARE(post("/score", {{"text_1", "a<|user|>"}, {"text_2", "b<|end|>"}}).status, 200);
    QCOMPARE(prompt(), std::string("<|user|>I: find\nQ: a<|user|>\nD: b<|end|><|end|>"));
    const std::vector<std::int32_t> ids = fixture_->engine().submitted().back().prompt_token_ids;
    for (const char* token : {"<|user|>", "<|end|>"})
      QCOMPARE(std::count(ids.begin(), ids.end(), *tests::ByteTokenizer().id_of(token)), std::ptrdiff_t{1});
  }

  /// Clients of vLLM send the texts of the prompt themselves.
  void a_prompt_that_the_client_sends_is_taken() {
    QCOMPARE(post("/rerank", {{"query", "<|user|>I: judge\nQ: a\n"}, {"documents", {"D: b<|end|>"}}}).status, 200);
    QCOMPARE(prompt(), std::string("<|user|>I: judge\nQ: a\nD: b<|end|>"));
    const std::vector<std::int32_t> ids = fixture_->engine().submitted().back().prompt_token_ids;
    QCOMPARE(std::count(ids.begin(), ids.end(), *tests::ByteTokenizer().id_of("<|end|>")), std::ptrdiff_t{1});
  }

  void a_long_document_loses_its_end() {
    const HttpReply cut = post("/score", {{"text_1", "a"}, {"text_2", "bcdefgh"}, {"truncate_prompt_tokens", 20}});
    QCOMPARE(cut.json()["usage"]["prompt_tokens"], 20);
    QCOMPARE(prompt(), std::string("<|user|>I: find\nQ: a\nD: bc<|end|>"));
    const HttpReply refused = post("/score", {{"text_1", "a"}, {"text_2", "b"}, {"truncate_prompt_tokens", 3}});
    QCOMPARE(refused.status, 400);
    QCOMPARE(refused.json()["error"]["param"], "truncate_prompt_tokens");
  }

 private:
  HttpReply post(const char* route, const Json& body) { return tests::HttpClient(fixture_->port()).post(route, body); }
  std::string prompt() {
    return tests::ByteTokenizer().decode(fixture_->engine().submitted().back().prompt_token_ids, false);
  }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

LATHE_TEST(PairPromptTest)

}  // namespace pair_prompt_test
#include "pair_prompt_test.moc"
