// SPDX-License-Identifier: Apache-2.0
// Values of request fields over HTTP: false where true is the default, switches that are obeyed, and errors with their
// field.
#include <QtTest>

#include "app/server/known_fields.h"
#include "tests/support/field_bodies.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace field_values_test {

using namespace lathe;
using app::FieldFate;
using app::KnownField;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;

namespace {

bool warns_of(const HttpReply& reply, const std::string& name) {
  const Json json = reply.json();
  return json.value("warnings", Json::array()).size() == 1 && !tests::warning_of(json, name).empty();
}

}  // namespace

class FieldValuesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void false_asks_where_true_is_the_default();
  void without_the_cache_no_prefix_is_found();
  void reasoning_may_stay_in_the_content();
  void errors_name_their_field_data();
  void errors_name_their_field();
  void a_nul_byte_does_not_end_a_body();

 private:
  HttpReply post(const std::string& route, const Json& fields) {
    return HttpClient(fixture_->port()).post(route, tests::field_body(route, fields));
  }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

void FieldValuesTest::false_asks_where_true_is_the_default() {
  int n_fields = 0;
  for (const KnownField& field : app::known_fields()) {
    if (field.fate != FieldFate::warned || !app::is_among(field.neutral, true) || !field.with.empty()) continue;
    ++n_fields;
    for (const char* route : tests::kFieldRoutes) {
      const HttpReply reply = post(route, {{std::string(field.name), false}});
      QVERIFY2(reply.status == 200 && warns_of(reply, std::string(field.name)), reply.body.c_str());
    }
  }
  QVERIFY(n_fields > 0);
  QVERIFY(warns_of(post(tests::kFieldRoutes[0], {{"options", {{"use_mmap", false}}}}), "options.use_mmap"));
  QVERIFY(warns_of(post(tests::kFieldRoutes[0], {{"penalize_nl", false}, {"repeat_penalty", 1.2}}), "penalize_nl"));
  QVERIFY(warns_of(post(tests::kFieldRoutes[0], {{"parallel_tool_calls", false}}), "parallel_tool_calls"));
  QVERIFY(warns_of(post(tests::kFieldRoutes[1], {{"add_special_tokens", true}}), "add_special_tokens"));
  QVERIFY(!post(tests::kFieldRoutes[1], {{"add_special_tokens", false}}).json().contains("warnings"));
}

/// Requests share prefixes only under one salt.
void FieldValuesTest::without_the_cache_no_prefix_is_found() {
  const auto salt = [&](const char* route, const Json& fields) {
    const HttpReply reply = post(route, fields);
    return reply.status == 200 && !reply.json().contains("warnings") ? fixture_->engine().submitted().back().cache_salt
                                                                     : reply.body;
  };
  for (const char* route : tests::kFieldRoutes) {
    QCOMPARE(salt(route, {{"cache_prompt", true}}), std::string());
    const std::string first = salt(route, {{"cache_prompt", false}, {"cache_salt", "x"}});
    QVERIFY(!first.empty() && first != salt(route, {{"cache_prompt", false}, {"cache_salt", "x"}}));
  }
}

void FieldValuesTest::reasoning_may_stay_in_the_content() {
  tests::FakeModel model;
  model.answer_formats = {"", "qwen3"};
  fixture_->load(model);
  fixture_->engine().answer_with("<think>a</think>b");
  const auto content = [&](bool separate) {
    const HttpReply reply = post(tests::kFieldRoutes[1], {{"separate_reasoning", separate}});
    const Json json = reply.json();
    return reply.status == 200 && !json.contains("warnings") ? json["choices"][0]["message"]["content"].get<std::string>()
                                                             : reply.body;
  };
  QCOMPARE(content(true), std::string("b"));
  QCOMPARE(content(false), std::string("<think>a</think>b"));
}

void FieldValuesTest::errors_name_their_field_data() {
  QTest::addColumn<QByteArray>("fields");
  QTest::addColumn<QByteArray>("param");
  QTest::addColumn<QByteArray>("named");
  const auto row = [](const char* fields, const char* param, const char* named) {
    QTest::newRow(fields) << QByteArray(fields) << QByteArray(param) << QByteArray(named);
  };
  row(R"({"n":0})", "n", "n: must be between 1 and 128, got 0");
  row(R"({"n":"x"})", "n", "n: must be");
  row(R"({"n":2,"best_of":1})", "best_of", "best_of: must be between n (2)");
  row(R"({"logprobs":true,"top_logprobs":21})", "top_logprobs", "top_logprobs must be between 0 and 20, got 21");
  row(R"({"logprobs":true,"top_logprobs":-1})", "top_logprobs", "top_logprobs must be between 0 and 20, got -1");
  row(R"({"max_tokens":1,"max_completion_tokens":2})", "max_completion_tokens", "\"max_tokens\" (1)");
  row(R"({"n_predict":1,"max_completion_tokens":2})", "max_completion_tokens", "\"n_predict\" (1)");
  row(R"({"web_search_options":{}})", "web_search_options", "is not supported");
  row(R"({"output_format":{"type":"json_schema","schema":{}}})", "output_format", "is not supported");
}

void FieldValuesTest::errors_name_their_field() {
  QFETCH(QByteArray, fields);
  QFETCH(QByteArray, param);
  QFETCH(QByteArray, named);
  const HttpReply reply = post("/v1/chat/completions", Json::parse(fields.toStdString()));
  QVERIFY2(reply.status == 400, reply.body.c_str());
  QCOMPARE(reply.json()["error"]["param"].get<std::string>(), param.toStdString());
  VERIFY_HAS(reply.json()["error"]["message"].get<std::string>(), named.toStdString());
}

void FieldValuesTest::a_nul_byte_does_not_end_a_body() {
  using namespace std::string_view_literals;
  const HttpReply reply = HttpClient(fixture_->port()).post("/v1/completions", "{\"prompt\":\"ab\"}\0{\"x\""sv);
  QCOMPARE(reply.status, 400);
  VERIFY_HAS(reply.body, "at byte 15: a NUL byte");
}

LATHE_TEST(FieldValuesTest)

}  // namespace field_values_test
#include "field_values_test.moc"
