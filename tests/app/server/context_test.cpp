// SPDX-License-Identifier: Apache-2.0
// Answers and prompts against the context, on both routes.
#include <QtTest>

#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace context_test {

using namespace lathe;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

namespace {

constexpr std::int64_t kContext = 64;
constexpr std::int64_t kPrompt = 20;

}  // namespace

class ContextTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    ServerFixture::Options options;
    options.model.max_model_len = kContext;
    fixture_ = std::make_unique<ServerFixture>(options);
  }
  void cleanup() {
    const std::string left = fixture_->leftovers();
    fixture_.reset();
    QVERIFY2(left.empty(), left.c_str());
  }

  void an_answer_ends_with_the_context_data() {
    QTest::addColumn<bool>("chat");
    QTest::addColumn<QByteArray>("fields");
    QTest::addColumn<int>("n");
    const auto row = [](bool chat, const QByteArray& fields, int n) {
      QTest::newRow((chat ? "chat " : "completion ") + fields) << chat << fields << n;
    };
    for (const bool chat : {false, true}) {
      for (const char* number : {"45", "1000", "99999", "2147483648", "9223372036854775807"}) {
        row(chat, QByteArray("\"max_tokens\":") + number, 1);
      }
      row(chat, R"("max_tokens":45,"n":3)", 3);
      row(chat, R"("max_tokens":45,"min_tokens":44)", 1);
      row(chat, R"("max_tokens":45,"stream":true,"stream_options":{"include_usage":true})", 1);
      row(chat, R"("max_tokens":45,"n":2,"stream":true,"stream_options":{"include_usage":true})", 2);
    }
    row(true, R"("max_completion_tokens":99999)", 1);
    row(true, R"("max_completion_tokens":45,"max_tokens":45)", 1);
    row(false, R"("max_tokens":45,"echo":true)", 1);
    row(false, R"("max_tokens":45,"best_of":3,"n":2)", 3);
  }
  void an_answer_ends_with_the_context() {
    QFETCH(bool, chat);
    QFETCH(QByteArray, fields);
    QFETCH(int, n);
    const HttpReply reply = post(chat, fields);
    QVERIFY2(reply.status == 200, reply.body.c_str());
    const Json usage = fields.contains("stream") ? usage_of_stream(reply.body) : reply.json()["usage"];
    QCOMPARE(usage["prompt_tokens"], kPrompt);
    QCOMPARE(usage["completion_tokens"], n * (kContext - kPrompt));
    QVERIFY(reply.body.find(R"("finish_reason":"length")") != std::string::npos);
    QVERIFY(reply.body.find(R"("finish_reason":"stop")") == std::string::npos);
  }

  /// Each prompt of a request has the rest of the context that it leaves itself.
  void prompts_of_one_request_do_not_shorten_each_other() {
    const Json prompts = {std::string(9, 'a'), std::string(49, 'a')};
    const std::string body = engine::dump_json(Json{{"prompt", prompts}, {"max_tokens", 999}, {"ignore_eos", true}});
    const HttpReply reply = HttpClient(fixture_->port()).post("/v1/completions", body);
    QVERIFY2(reply.status == 200, reply.body.c_str());
    QCOMPARE(reply.json()["usage"]["completion_tokens"].get<int>(), (64 - 10) + (64 - 50));
  }

  void what_does_not_fit_is_400_with_both_numbers_data() {
    QTest::addColumn<bool>("chat");
    QTest::addColumn<int>("n_prompt");
    QTest::addColumn<QByteArray>("fields");
    for (const bool chat : {false, true}) {
      for (const char* fields : {R"("max_tokens":1)", R"("n":2)", R"("stream":true)"}) {
        for (const int n_prompt : {64, 65, 300}) {
          QTest::addRow("%s of %d, %s", chat ? "chat" : "completion", n_prompt, fields)
              << chat << n_prompt << QByteArray(fields);
        }
      }
    }
  }
  void what_does_not_fit_is_400_with_both_numbers() {
    QFETCH(bool, chat);
    QFETCH(int, n_prompt);
    QFETCH(QByteArray, fields);
    const HttpReply reply = post(chat, fields, n_prompt);
    QCOMPARE(reply.status, 400);
    const Json error = reply.json()["error"];
    QCOMPARE(error["code"], "context_length_exceeded");
    const std::string message = error["message"];
    QVERIFY2(message.find("maximum context length is 64 tokens") != std::string::npos, message.c_str());
    QVERIFY2(message.find(std::to_string(n_prompt) + " input tokens") != std::string::npos, message.c_str());
  }

  void min_tokens_above_what_is_left_are_400_by_name() {
    for (const bool chat : {false, true}) {
      for (const char* fields :
           {R"("min_tokens":45,"max_tokens":99999)", R"("min_tokens":45,"max_tokens":45,"stream":true)"}) {
        const HttpReply reply = post(chat, fields);
        QCOMPARE(reply.status, 400);
        const Json error = reply.json()["error"];
        QCOMPARE(error["param"], "min_tokens");
        const std::string message = error["message"];
        QVERIFY2(message.find("at most 44, got 45") != std::string::npos, message.c_str());
      }
    }
  }

 private:
  HttpReply post(bool chat, const QByteArray& fields, int n_prompt = kPrompt) {
    // The tokenizer puts BOS before a completion's prompt; a chat's template adds marks of its own.
    const std::string text(static_cast<std::size_t>(n_prompt - (chat ? n_chat_marks() : 1)), 'a');
    const Json body = chat ? Json{{"messages", {{{"role", "user"}, {"content", text}}}}} : Json{{"prompt", text}};
    const std::string whole = engine::dump_json(body);
    return HttpClient(fixture_->port())
        .post(chat ? "/v1/chat/completions" : "/v1/completions",
              whole.substr(0, whole.size() - 1) + ",\"ignore_eos\":true," + fields.toStdString() + "}");
  }

  int n_chat_marks() {
    const HttpReply reply = HttpClient(fixture_->port()).post("/v1/chat/completions", tests::chat_body("a"));
    return reply.json()["usage"]["prompt_tokens"].get<int>() - 1;
  }

  static Json usage_of_stream(const std::string& body) {
    const std::size_t at = body.rfind("data: {"), end = body.find('\n', at);
    return engine::parse_json(body.substr(at + 6, end - at - 6), "event").value()["usage"];
  }

  std::unique_ptr<ServerFixture> fixture_;
};

LATHE_TEST(ContextTest)

}  // namespace context_test
#include "context_test.moc"
