// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/support/bad_bodies.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace parameters_test {

using namespace lathe;
using engine::Json;
using tests::completion_body;
using tests::HttpClient;
using tests::HttpReply;

class ParametersTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init();
  void cleanup();

  void S3_bodies_that_are_no_json_object_data();
  void S3_bodies_that_are_no_json_object();
  void S3_depth_ends_at_128();
  void S3_a_million_keys_are_refused_with_the_limit();
  void S3_wrong_types_name_the_path_data();
  void S3_wrong_types_name_the_path();
  void S3_large_integers_stay_exact();
  void S3_error_text_is_valid_json_whatever_was_sent();
  void S4_S5_S8_fields_out_of_range_data();
  void S4_S5_S8_fields_out_of_range();
  void S4_a_hundred_and_twenty_eight_answers_are_served();
  void S5_max_completion_tokens_out_of_range_data();
  void S5_max_completion_tokens_out_of_range();
  void S5_sentinels_are_accepted();
  void S5_negative_seeds_are_seeds_as_with_vllm();
  void S6_too_many_logprobs_are_400();
  void S7_stop_is_bounded();
  void S7_first_token_may_be_the_stop_with_logprobs();
  void S7_stop_across_tokens_is_trimmed_exactly();
  void S8_largest_biases_are_accepted();
  void S8_prompt_ids_are_checked_data();
  void S8_prompt_ids_are_checked();
  void S9_prompts_that_do_not_fit_are_400_with_numbers();
  void S9_longest_prompt_that_fits_is_served();
  void unserved_fields_are_refused_by_name();
  void unknown_fields_are_ignored();
  void after_every_refusal_the_next_request_is_served();

 private:
  HttpReply post(std::string_view body);
  HttpReply post(const Json& body);
  HttpReply post_chat(std::string_view body);
  /// Posts a body with one field more, given as JSON text.
  HttpReply post_with(const std::string& name, const std::string& value);

  std::unique_ptr<tests::ServerFixture> fixture_;
};

HttpReply ParametersTest::post(std::string_view body) { return HttpClient(fixture_->port()).post("/v1/completions", body); }

HttpReply ParametersTest::post_chat(std::string_view body) {
  return HttpClient(fixture_->port()).post("/v1/chat/completions", body);
}

HttpReply ParametersTest::post(const Json& body) { return post(std::string_view(engine::dump_json(body))); }

HttpReply ParametersTest::post_with(const std::string& name, const std::string& value) {
  return post(std::string_view("{\"prompt\":\"ab\",\"" + name + "\":" + value + "}"));
}

void ParametersTest::init() {
  tests::ServerFixture::Options options;
  options.model.max_model_len = 64;
  fixture_ = std::make_unique<tests::ServerFixture>(options);
}

/// D4, D6: after every test nothing is left, and the next good request is served.
void ParametersTest::cleanup() {
  const std::string left = fixture_->leftovers();
  fixture_.reset();
  QVERIFY2(left.empty(), left.c_str());
}

void ParametersTest::S3_bodies_that_are_no_json_object_data() {
  QTest::addColumn<QByteArray>("body");
  for (const tests::BadJson& bad : tests::bad_json()) {
    QTest::newRow(bad.name.c_str()) << QByteArray::fromStdString(bad.body);
  }
}

void ParametersTest::S3_bodies_that_are_no_json_object() {
  QFETCH(QByteArray, body);
  const std::string text = body.toStdString();
  for (const HttpReply& reply : {post(std::string_view(text)), post_chat(text)}) {
    QCOMPARE(reply.status, 400);
    QVERIFY(reply.json()["error"]["message"].is_string());
    QCOMPARE(reply.json()["error"]["param"], "body");
  }
  QVERIFY(fixture_->engine().submitted().empty());
}

void ParametersTest::S3_depth_ends_at_128() {
  const auto deep = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  QCOMPARE(post_with("user", deep(127)).status, 200);  // with the body's own object 128
  const HttpReply reply = post_with("user", deep(128));
  QCOMPARE(reply.status, 400);
  QVERIFY(reply.json()["error"]["message"].get<std::string>().find("deeper than 128") != std::string::npos);
}

void ParametersTest::S3_a_million_keys_are_refused_with_the_limit() {
  std::string wide = R"({"prompt":"ab")";
  for (int i = 0; i < 1'000'001; ++i) wide += ",\"k" + std::to_string(i) + "\":0";
  const HttpReply reply = post(std::string_view(wide + "}"));
  QCOMPARE(reply.status, 400);
  QVERIFY(reply.json()["error"]["message"].get<std::string>().find("1000000 values") != std::string::npos);
}

void ParametersTest::S3_wrong_types_name_the_path_data() {
  QTest::addColumn<QByteArray>("name");
  QTest::addColumn<QByteArray>("value");
  QTest::addColumn<QByteArray>("path");
  const auto row = [](const char* name, const char* value, const char* path) {
    QTest::newRow((std::string(name) + "=" + value).c_str()) << QByteArray(name) << QByteArray(value) << QByteArray(path);
  };
  row("max_tokens", "\"5\"", "max_tokens");
  row("max_tokens", "true", "max_tokens");
  row("max_tokens", "1.5", "max_tokens");
  row("temperature", "\"1\"", "temperature");
  row("temperature", "[1]", "temperature");
  row("stream", "1", "stream");
  row("stop", "[\"a\",5]", "stop[1]");
  row("stop", "{}", "stop");
  row("stop_token_ids", "[1,\"2\"]", "stop_token_ids[1]");
  row("stop_token_ids", "[4294967296]", "stop_token_ids[0]");
  row("model", "7", "model");
  row("seed", "18446744073709551616", "seed");
  row("stream_options", "{\"include_usage\":true}", "stream_options");
}

void ParametersTest::S3_wrong_types_name_the_path() {
  QFETCH(QByteArray, name);
  QFETCH(QByteArray, value);
  QFETCH(QByteArray, path);
  const HttpReply reply = post_with(name.toStdString(), value.toStdString());
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"], path.toStdString());
}

void ParametersTest::S3_large_integers_stay_exact() {
  QCOMPARE(post_with("seed", "9007199254740993").status, 200);
  QCOMPARE(*fixture_->engine().submitted().back().sampling.seed, std::uint64_t(9007199254740993));
}

void ParametersTest::S3_error_text_is_valid_json_whatever_was_sent() {
  const HttpReply reply = post_with("model", "\"a\\u0000\\n\\u001b[31m\\ud83d\\ude00" + std::string(5000, 'x') + "\"");
  QCOMPARE(reply.status, 404);
  const std::string message = reply.json()["error"]["message"].get<std::string>();
  QVERIFY(message.size() <= 1024);
  QVERIFY(message.find('\x1b') == std::string::npos);
}

void ParametersTest::S4_S5_S8_fields_out_of_range_data() {
  QTest::addColumn<QByteArray>("fields");
  QTest::addColumn<QByteArray>("param");
  QTest::addColumn<bool>("in_chat");
  for (const tests::BadFields& bad : tests::bad_fields()) {
    QTest::newRow((bad.row + " " + bad.name).c_str())
        << QByteArray::fromStdString(bad.text) << QByteArray::fromStdString(bad.param) << bad.in_chat;
  }
}

void ParametersTest::S4_S5_S8_fields_out_of_range() {
  QFETCH(QByteArray, fields);
  QFETCH(QByteArray, param);
  QFETCH(bool, in_chat);
  const HttpReply reply = post(std::string_view(tests::completion_with(fields.toStdString())));
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"], param.toStdString());
  QVERIFY(reply.body.size() <= 1400);
  if (in_chat) {
    const HttpReply chat = post_chat(tests::chat_with(fields.toStdString()));
    QCOMPARE(chat.status, 400);
    QCOMPARE(chat.json()["error"]["param"], param.toStdString());
  }
  QVERIFY(fixture_->engine().submitted().empty());
}

void ParametersTest::S4_a_hundred_and_twenty_eight_answers_are_served() {
  const Json json = post_with("n", "128").json();
  QCOMPARE(json["choices"].size(), std::size_t(128));
  QCOMPARE(post(completion_body(Json(std::vector<std::string>(129, "a")))).status, 400);
  QCOMPARE(post(completion_body({"a", "b"}, {{"n", 65}})).status, 400);
}

void ParametersTest::S5_max_completion_tokens_out_of_range_data() {
  QTest::addColumn<QByteArray>("value");
  QTest::addColumn<QByteArray>("param");
  for (const char* value : {"0", "-1", "1.5", "\"5\""}) {
    QTest::newRow(value) << QByteArray(value) << QByteArray("max_completion_tokens");
  }
}

void ParametersTest::S5_max_completion_tokens_out_of_range() {
  QFETCH(QByteArray, value);
  QFETCH(QByteArray, param);
  const HttpReply reply = post_chat(tests::chat_with("\"max_completion_tokens\":" + value.toStdString()));
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"], param.toStdString());
  QVERIFY(fixture_->engine().submitted().empty());
}

void ParametersTest::S5_sentinels_are_accepted() {
  QCOMPARE(post(std::string_view(
                    R"({"prompt":"ab","temperature":0,"top_k":-1,"seed":-1,"top_p":1,"stop":null,"max_tokens":5.0})"))
               .status,
           200);
  const auto sampling = fixture_->engine().submitted().back().sampling;
  QCOMPARE(sampling.top_k, std::int64_t(-1));
  QVERIFY(!sampling.seed);
  QCOMPARE(sampling.max_tokens, std::int64_t(5));
}

void ParametersTest::S5_negative_seeds_are_seeds_as_with_vllm() {
  QCOMPARE(post_with("seed", "-9223372036854775808").status, 200);
  QCOMPARE(*fixture_->engine().submitted().back().sampling.seed, std::uint64_t(1) << 63);
  QCOMPARE(post(std::string_view(R"({"prompt":"ab","seed":-2,"n":3})")).status, 200);
  const auto submitted = fixture_->engine().submitted();
  QCOMPARE(*submitted.back().sampling.seed, std::uint64_t(0));  // counts on past 2^64
}

void ParametersTest::S6_too_many_logprobs_are_400() {
  QCOMPARE(post_with("logprobs", "20").status, 200);
  QCOMPARE(post_with("logprobs", "21").status, 400);
  QCOMPARE(post_with("logprobs", "-1").status, 400);
  QCOMPARE(post_with("prompt_logprobs", "1000000").status, 400);
}

void ParametersTest::S7_stop_is_bounded() {
  QCOMPARE(post_with("stop", "\"\"").status, 400);
  QCOMPARE(post_with("stop", "[\"a\",\"\"]").status, 400);
  QCOMPARE(post_with("stop", "\"" + std::string(1 << 20, 'x') + "\"").status, 400);
  std::string many = "[\"x\"";
  for (int i = 0; i < 100'000; ++i) many += ",\"x\"";
  QCOMPARE(post_with("stop", many + "]").status, 400);
  QCOMPARE(post_with("stop", "[]").status, 200);
}

void ParametersTest::S7_first_token_may_be_the_stop_with_logprobs() {
  const Json choice = post(completion_body("ab", {{"stop", "a"}, {"logprobs", 2}})).json()["choices"][0];
  QCOMPARE(choice["text"], "");
  QCOMPARE(choice["stop_reason"], "a");
  QCOMPARE(choice["logprobs"]["tokens"], Json({"a"}));
}

void ParametersTest::S7_stop_across_tokens_is_trimmed_exactly() {
  fixture_->engine().answer_with("xé€y");
  QCOMPARE(post(completion_body("ab", {{"stop", "é€"}})).json()["choices"][0]["text"], "x");
  QCOMPARE(post(completion_body("ab", {{"stop", "é€"}, {"include_stop_str_in_output", true}})).json()["choices"][0]["text"],
           "xé€");
}

void ParametersTest::S8_largest_biases_are_accepted() {
  QCOMPARE(post_with("logit_bias", R"({"5":-100,"6":100,"262":0})").status, 200);
}

void ParametersTest::S8_prompt_ids_are_checked_data() {
  QTest::addColumn<QByteArray>("prompt");
  for (const std::string& prompt : tests::bad_prompts()) QTest::newRow(prompt.c_str()) << QByteArray::fromStdString(prompt);
}

void ParametersTest::S8_prompt_ids_are_checked() {
  QFETCH(QByteArray, prompt);
  const std::string body = R"({"add_special_tokens":false,"prompt":)" + prompt.toStdString() + "}";
  QCOMPARE(post(std::string_view(body)).status, 400);
  QVERIFY(fixture_->engine().submitted().empty());
}

void ParametersTest::S9_prompts_that_do_not_fit_are_400_with_numbers() {
  for (const int n : {64, 65, 640}) {
    const HttpReply reply = post(completion_body(Json(std::vector<int>(static_cast<std::size_t>(n), 97))));
    QCOMPARE(reply.status, 400);
    const std::string message = reply.json()["error"]["message"].get<std::string>();
    QVERIFY(message.find("64 tokens") != std::string::npos && message.find(std::to_string(n)) != std::string::npos);
    QCOMPARE(reply.json()["error"]["code"], "context_length_exceeded");
  }
}

void ParametersTest::S9_longest_prompt_that_fits_is_served() {
  const HttpReply reply = post(completion_body(Json(std::vector<int>(63, 97))));
  QCOMPARE(reply.status, 200);
  QCOMPARE(reply.json()["usage"]["completion_tokens"], 1);
}

void ParametersTest::unserved_fields_are_refused_by_name() {
  const std::pair<const char*, const char*> fields[] = {
      {"use_beam_search", "true"}, {"suffix", "\"x\""},      {"allowed_token_ids", "[1]"}, {"truncate_prompt_tokens", "5"},
      {"priority", "1"},           {"bad_words", "[\"x\"]"}, {"length_penalty", "0.5"}};
  for (const auto& [name, value] : fields) {
    const HttpReply reply = post_with(name, value);
    QCOMPARE(reply.status, 400);
    QCOMPARE(reply.json()["error"]["param"], name);
  }
  QCOMPARE(post_with("response_format", R"({"type":"json_object"})").status, 200);
  QCOMPARE(post_with("response_format", R"({"type":"xml"})").status, 400);
  QCOMPARE(post_with("response_format", R"({"type":"text"})").status, 200);
}

void ParametersTest::unknown_fields_are_ignored() {
  QCOMPARE(
      post(std::string_view(R"({"prompt":"ab","user":"me","whatever":{"a":[1]},"use_beam_search":false,"suffix":null})"))
          .status,
      200);
}

void ParametersTest::after_every_refusal_the_next_request_is_served() {
  HttpClient client(fixture_->port());
  QCOMPARE(client.post("/v1/completions", "{").status, 400);
  QCOMPARE(client.post("/v1/completions", R"({"prompt":"ab"})").status, 200);
  QVERIFY(fixture_->engine().wait_for_active(0));
}

LATHE_TEST(ParametersTest)

}  // namespace parameters_test
#include "parameters_test.moc"
