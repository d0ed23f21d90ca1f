// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <limits>

#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace completions_test {

using namespace lathe;
using engine::Json;
using tests::ByteTokenizer;
using tests::completion_body;
using tests::HttpClient;
using tests::HttpReply;

class CompletionsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void a_text_prompt_gets_bos();
  void special_tokens_can_be_left_out();
  void token_ids_are_taken_as_they_are();
  void several_prompts_are_numbered_by_prompt_then_answer();
  void sixteen_tokens_is_the_default();
  void null_max_tokens_fills_the_context();
  void a_prompt_of_too_many_bytes_is_refused_unread();
  void echo_puts_the_prompt_before_the_text();
  void echo_with_no_tokens_scores_the_prompt();
  void logprobs_have_the_text_shape();
  void logprobs_zero_gives_the_token_alone();
  void chat_logprobs_have_the_content_shape();
  void streamed_logprobs_equal_whole_ones_data();
  void streamed_logprobs_equal_whole_ones();
  void bytes_of_half_characters_are_exact();
  void bytes_of_a_chat_add_up_to_the_text();
  void names_of_a_completion_add_up_to_the_text();
  void tokens_of_one_text_have_names_of_their_own();
  void offsets_are_places_in_the_text_data();
  void offsets_are_places_in_the_text();
  void S6_minus_infinity_is_written_as_a_number();
  void prompt_logprobs_have_vllms_shape();
  void prompt_logprobs_are_refused_while_streaming();
  void tokens_may_be_named_by_id();
  void best_of_returns_the_best();
  void return_token_ids_include_the_prompt();
  void a_stop_token_id_is_the_stop_reason();
  void a_stop_string_does_not_name_other_causes();
  void stream_of_two_answers_interleaves_them();
  void continuous_usage_counts_up();
  void engine_defaults_are_the_starting_point();
  void cache_salt_reaches_the_engine();
  void a_full_queue_is_429_with_retry_after();
  void a_lost_device_is_503_and_health_says_so();
  void a_failed_submit_of_several_leaves_none_running();

 private:
  HttpReply post(const Json& body) { return HttpClient(fixture_->port()).post("/v1/completions", body); }
  std::vector<Json> stream(Json body);
  std::vector<std::int32_t> prompt_seen() { return fixture_->engine().submitted().back().prompt_token_ids; }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

std::vector<Json> CompletionsTest::stream(Json body) {
  body["stream"] = true;
  HttpClient client(fixture_->port());
  client.send(client.request("POST", "/v1/completions", engine::dump_json(body)));
  client.read_head();
  std::vector<Json> chunks;
  while (const auto event = client.read_event()) {
    if (*event != "[DONE]") chunks.push_back(engine::parse_json(*event, "event").value());
  }
  return chunks;
}

void CompletionsTest::a_text_prompt_gets_bos() {
  const Json json = post(completion_body("ab")).json();
  QCOMPARE(prompt_seen(), (std::vector<std::int32_t>{ByteTokenizer::kBos, 'a', 'b'}));
  QVERIFY(json["id"].get<std::string>().starts_with("cmpl-"));
  QCOMPARE(json["object"], "text_completion");
  QCOMPARE(json["choices"][0]["text"], "ab");
  QCOMPARE(json["usage"]["prompt_tokens"], 3);
}

void CompletionsTest::special_tokens_can_be_left_out() {
  post(completion_body("ab", {{"add_special_tokens", false}}));
  QCOMPARE(prompt_seen(), (std::vector<std::int32_t>{'a', 'b'}));
}

void CompletionsTest::token_ids_are_taken_as_they_are() {
  post(completion_body(Json({97, 98, 258})));
  QCOMPARE(prompt_seen(), (std::vector<std::int32_t>{97, 98, 258}));
}

void CompletionsTest::several_prompts_are_numbered_by_prompt_then_answer() {
  for (const Json& prompt : {Json({"ab", "cd"}), Json({{97, 98}, {99, 100}})}) {
    const Json choices = post(completion_body(prompt, {{"n", 2}})).json()["choices"];
    QCOMPARE(choices.size(), std::size_t(4));
    for (std::size_t i = 0; i < 4; ++i) {
      QCOMPARE(choices[i]["index"], i);
      QCOMPARE(choices[i]["text"], i < 2 ? "ab" : "cd");
    }
  }
}

void CompletionsTest::sixteen_tokens_is_the_default() {
  const Json json = post(completion_body("abcdefghijklmnopqrstuvwxyz")).json();
  QCOMPARE(json["choices"][0]["text"], "abcdefghijklmnop");
  QCOMPARE(json["choices"][0]["finish_reason"], "length");
}

void CompletionsTest::null_max_tokens_fills_the_context() {
  post(completion_body("ab", {{"max_tokens", nullptr}}));
  QCOMPARE(fixture_->engine().submitted().back().sampling.max_tokens, std::int64_t(4096 - 3));
}

void CompletionsTest::echo_puts_the_prompt_before_the_text() {
  fixture_->engine().answer_with("cd");
  QCOMPARE(post(completion_body("ab", {{"echo", true}})).json()["choices"][0]["text"], "abcd");
  std::string text;
  for (const Json& chunk : stream(completion_body("ab", {{"echo", true}})))
    text += chunk["choices"][0]["text"].get<std::string>();
  QCOMPARE(text, "abcd");
}

void CompletionsTest::echo_with_no_tokens_scores_the_prompt() {
  const Json json = post(completion_body("ab", {{"echo", true}, {"max_tokens", 0}, {"logprobs", 1}})).json();
  const Json& choice = json["choices"][0];
  QCOMPARE(choice["text"], "ab");
  QCOMPARE(choice["logprobs"]["tokens"], Json({"<s>", "a", "b"}));
  QCOMPARE(choice["logprobs"]["token_logprobs"], Json({nullptr, -1.0, -1.0}));
  QCOMPARE(json["usage"]["completion_tokens"], 0);
}

void CompletionsTest::logprobs_have_the_text_shape() {
  fixture_->engine().answer_with("xy");
  const Json logprobs = post(completion_body("ab", {{"logprobs", 2}})).json()["choices"][0]["logprobs"];
  QCOMPARE(logprobs["tokens"], Json({"x", "y", "</s>"}));
  QCOMPARE(logprobs["text_offset"], Json({0, 1, 2}));
  QCOMPARE(logprobs["token_logprobs"], Json({-0.5, -0.5, -0.5}));
  QCOMPARE(logprobs["top_logprobs"][0], Json({{"x", -0.5}, {"y", -1.5}}));
}

void CompletionsTest::logprobs_zero_gives_the_token_alone() {
  const Json logprobs = post(completion_body("x", {{"logprobs", 0}})).json()["choices"][0]["logprobs"];
  QCOMPARE(logprobs["top_logprobs"][0], Json({{"x", -0.5}}));
}

void CompletionsTest::chat_logprobs_have_the_content_shape() {
  fixture_->engine().answer_with("x");
  HttpClient client(fixture_->port());
  const Json choice = client.post("/v1/chat/completions", tests::chat_body("Hi", {{"logprobs", true}, {"top_logprobs", 2}}))
                          .json()["choices"][0];
  const Json& first = choice["logprobs"]["content"][0];
  QCOMPARE(first["token"], "x");
  QCOMPARE(first["logprob"], -0.5);
  QCOMPARE(first["bytes"], Json({'x'}));
  QCOMPARE(first["top_logprobs"].size(), std::size_t(2));
  QCOMPARE(first["top_logprobs"][1]["token"], "y");
  QCOMPARE(client.post("/v1/chat/completions", tests::chat_body("Hi", {{"top_logprobs", 2}})).status, 400);
}

void CompletionsTest::streamed_logprobs_equal_whole_ones_data() {
  QTest::addColumn<QByteArray>("fields");
  QTest::newRow("of the answer") << QByteArray(R"({"logprobs":2})");
  QTest::newRow("of prompt and answer") << QByteArray(R"({"logprobs":2,"echo":true})");
  QTest::newRow("of the prompt alone") << QByteArray(R"({"logprobs":2,"echo":true,"max_tokens":0})");
  QTest::newRow("of several") << QByteArray(R"({"logprobs":0,"echo":true,"n":2})");
}

void CompletionsTest::streamed_logprobs_equal_whole_ones() {
  QFETCH(QByteArray, fields);
  fixture_->engine().answer_with("xäz");
  const Json body = completion_body("äb", Json::parse(fields.toStdString()));
  const Json whole = post(body).json()["choices"].back();
  Json joined = {{"text_offset", Json::array()},
                 {"token_logprobs", Json::array()},
                 {"tokens", Json::array()},
                 {"top_logprobs", Json::array()}};
  std::string text;
  for (const Json& chunk : stream(body)) {
    const Json& choice = chunk["choices"][0];
    if (choice["index"] != whole["index"]) continue;
    text += choice["text"].get<std::string>();
    for (const auto& [key, values] : choice["logprobs"].items()) {
      for (const Json& value : values) joined[key].push_back(value);
    }
  }
  QCOMPARE(joined, whole["logprobs"]);
  QCOMPARE(text, whole["text"].get<std::string>());
}

void CompletionsTest::bytes_of_half_characters_are_exact() {
  fixture_->engine().answer_with("ä");
  const Json content = HttpClient(fixture_->port())
                           .post("/v1/chat/completions", tests::chat_body("Hi", {{"logprobs", true}}))
                           .json()["choices"][0]["logprobs"]["content"];
  QCOMPARE(content[0]["bytes"], Json({0xC3}));
  QCOMPARE(content[1]["bytes"], Json({0xA4}));
  QCOMPARE(content[0]["token"], "\xEF\xBF\xBD");
}

/// Control tokens that the text leaves out have no bytes, others those of the text, by whatever name.
void CompletionsTest::bytes_of_a_chat_add_up_to_the_text() {
  fixture_->engine().answer_with("x雪 \xF0\x9F\x99\x82.");
  for (const bool as_ids : {false, true}) {
    const Json body = tests::chat_body("Hi", {{"logprobs", true}, {"return_tokens_as_token_ids", as_ids}});
    const Json choice = HttpClient(fixture_->port()).post("/v1/chat/completions", body).json()["choices"][0];
    std::string joined;
    for (const Json& entry : choice["logprobs"]["content"]) {
      for (const Json& byte : entry["bytes"]) joined.push_back(static_cast<char>(byte.get<int>()));
      QCOMPARE(entry["token"].get<std::string>().starts_with("token_id:"), as_ids);
    }
    QCOMPARE(joined, choice["message"]["content"].get<std::string>());
  }
}

/// "bytes:\\xe9\\x9b" where a token is no text by itself; a token that spells the mark is escaped too.
void CompletionsTest::names_of_a_completion_add_up_to_the_text() {
  fixture_->engine().answer_with("é");
  const Json logprobs = post(completion_body("ab", {{"logprobs", 1}})).json()["choices"][0]["logprobs"];
  QCOMPARE(logprobs["tokens"], Json({"bytes:\\xc3", "bytes:\\xa9", "</s>"}));
  for (std::size_t i = 0; i < 3; ++i)
    QVERIFY(logprobs["top_logprobs"][i].contains(logprobs["tokens"][i].get<std::string>()));
}

/// Twenty asked for, twenty there, though most of these bytes are no text by themselves.
void CompletionsTest::tokens_of_one_text_have_names_of_their_own() {
  fixture_->engine().answer_with("\xC3\xA9");
  for (const bool as_ids : {false, true}) {
    const Json body = completion_body("ab", {{"logprobs", 20}, {"return_tokens_as_token_ids", as_ids}});
    const Json tops = post(body).json()["choices"][0]["logprobs"]["top_logprobs"];
    for (const Json& top : tops) QCOMPARE(top.size(), std::size_t(20));
  }
}

void CompletionsTest::offsets_are_places_in_the_text_data() {
  QTest::addColumn<QByteArray>("answer");
  QTest::addColumn<QByteArray>("fields");
  const auto row = [](const char* name, const char* answer, const char* fields) {
    QTest::newRow(name) << QByteArray(answer) << QByteArray(fields);
  };
  row("plain", "hello", "{}");
  row("characters of several tokens", "a雪é\xF0\x9F\x99\x82z", "{}");
  row("behind a prompt", "a雪z", R"({"echo":true})");
  row("behind a prompt of ids", "xé", R"({"echo":true,"prompt":[256,104,195,169,258,105]})");
  row("behind a prompt with control tokens", "x", R"({"echo":true,"prompt":"<|user|>hé<|end|>"})");
  row("a prompt alone", "x", R"({"echo":true,"max_tokens":0,"prompt":"a雪z"})");
  row("a stop string", "ab##cd", R"({"stop":"##"})");
  row("a long stop string", "ab####cd", R"({"stop":"####c"})");
  row("a stop string that stays", "ab##cd", R"({"stop":"##","include_stop_str_in_output":true})");
  row("a stop string at the begin", "##ab", R"({"stop":"##","echo":true})");
  row("a character cut by the limit", "a雪", R"({"max_tokens":3})");
  row("two answers", "a雪z", R"({"n":2,"echo":true})");
}

void CompletionsTest::offsets_are_places_in_the_text() {
  QFETCH(QByteArray, answer);
  QFETCH(QByteArray, fields);
  fixture_->engine().answer_with(answer.toStdString());
  Json body = completion_body("ab", Json::parse(fields.toStdString()));
  body["logprobs"] = 1;
  const Json choices = post(body).json()["choices"];
  for (const Json& choice : choices) {
    const QList<uint> text = QString::fromStdString(choice["text"].get<std::string>()).toUcs4().toList();
    const Json& tokens = choice["logprobs"]["tokens"];
    const Json& offsets = choice["logprobs"]["text_offset"];
    QCOMPARE(tokens.size(), offsets.size());
    int last = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const int offset = offsets[i].get<int>();
      QVERIFY(last <= offset && offset <= text.size());
      last = offset;
      const QList<uint> token = QString::fromStdString(tokens[i].get<std::string>()).toUcs4().toList();
      if (token.size() == 1 && offset < text.size() && !body.contains("stop")) QCOMPARE(text[offset], token.front());
    }
  }
  Json streamed = Json::array(), whole = post(body).json()["choices"][0]["logprobs"]["text_offset"];
  std::size_t n_characters = 0;
  for (const Json& chunk : stream(body)) {
    const Json& choice = chunk["choices"][0];
    if (choice["index"] != 0) continue;
    n_characters += static_cast<std::size_t>(QString::fromStdString(choice["text"].get<std::string>()).toUcs4().size());
    if (choice["logprobs"].is_null()) continue;
    for (const Json& offset : choice["logprobs"]["text_offset"]) {
      QVERIFY(offset.get<std::size_t>() <= n_characters);  // what has not been said may still be cut
      streamed.push_back(offset);
    }
  }
  QCOMPARE(streamed, whole);
}

void CompletionsTest::S6_minus_infinity_is_written_as_a_number() {
  fixture_->engine().set_logprob(-std::numeric_limits<float>::infinity());
  const Json logprobs = post(completion_body("x", {{"logprobs", 1}})).json()["choices"][0]["logprobs"];
  QCOMPARE(logprobs["token_logprobs"][0], -9999.0);
  fixture_->engine().set_logprob(std::numeric_limits<float>::quiet_NaN());
  QCOMPARE(post(completion_body("x", {{"logprobs", 1}})).status, 200);
}

void CompletionsTest::prompt_logprobs_have_vllms_shape() {
  const Json choice = post(completion_body("ab", {{"prompt_logprobs", 1}})).json()["choices"][0];
  const Json& lists = choice["prompt_logprobs"];
  QCOMPARE(lists.size(), std::size_t(3));
  QVERIFY(lists[0].is_null());
  QCOMPARE(lists[2]["98"]["decoded_token"], "b");
  QCOMPARE(lists[2]["98"]["logprob"], -1.0);
  QCOMPARE(lists[2]["97"]["rank"], 1);
  QCOMPARE(lists[2]["98"]["rank"], 7);
  const Json unasked = post(completion_body("ab", {{"prompt_logprobs", 0}})).json()["choices"][0]["prompt_logprobs"];
  QCOMPARE(unasked.size(), std::size_t(3));
  for (const Json& list : unasked) {
    for (const auto& [id, entry] : list.items()) QVERIFY(entry["rank"].is_number_integer());
  }
}

void CompletionsTest::prompt_logprobs_are_refused_while_streaming() {
  QCOMPARE(post(completion_body("ab", {{"prompt_logprobs", 1}, {"stream", true}})).status, 400);
}

void CompletionsTest::tokens_may_be_named_by_id() {
  const Json logprobs =
      post(completion_body("x", {{"logprobs", 1}, {"return_tokens_as_token_ids", true}})).json()["choices"][0]["logprobs"];
  QCOMPARE(logprobs["tokens"][0], "token_id:120");
}

void CompletionsTest::best_of_returns_the_best() {
  // Every token costs the same, so the shortest answer has the highest probability.
  fixture_->engine().answer_with(
      [](const engine::GenerateRequest& request) { return std::string(5 - *request.sampling.seed, 'x'); });
  const Json json = post(completion_body("ab", {{"best_of", 4}, {"n", 2}, {"seed", 0}})).json();
  QCOMPARE(json["choices"].size(), std::size_t(2));
  QCOMPARE(json["choices"][0]["text"], "xx");
  QCOMPARE(json["choices"][1]["text"], "xxx");
  QVERIFY(json["choices"][0]["logprobs"].is_null());
}

void CompletionsTest::return_token_ids_include_the_prompt() {
  const Json choice = post(completion_body("ab", {{"return_token_ids", true}})).json()["choices"][0];
  QCOMPARE(choice["prompt_token_ids"], Json({256, 97, 98}));
  QCOMPARE(choice["token_ids"], Json({97, 98, 257}));
  const auto chunks = stream(completion_body("ab", {{"return_token_ids", true}}));
  QCOMPARE(chunks.front()["choices"][0]["prompt_token_ids"], Json({256, 97, 98}));
}

void CompletionsTest::a_stop_token_id_is_the_stop_reason() {
  fixture_->engine().answer_with("a42b");
  const Json by_text = post(completion_body("ab", {{"stop", "42"}})).json()["choices"][0];
  QCOMPARE(by_text["stop_reason"], "42");
  QVERIFY(by_text["stop_reason"].is_string());
  const Json by_id = post(completion_body("ab", {{"stop_token_ids", {'4'}}, {"stop", "52"}})).json()["choices"][0];
  QCOMPARE(by_id["stop_reason"], Json(52));  // the byte '4'
  QVERIFY(by_id["stop_reason"].is_number_integer());
}

void CompletionsTest::a_stop_string_does_not_name_other_causes() {
  const Json by_end = post(completion_body("ab", {{"stop", {"eos"}}})).json()["choices"][0];
  QCOMPARE(by_end["finish_reason"], "stop");
  QVERIFY(by_end["stop_reason"].is_null());
  const Json by_text = post(completion_body("xeosy", {{"stop", {"eos"}}})).json()["choices"][0];
  QCOMPARE(by_text["stop_reason"], "eos");
}

void CompletionsTest::stream_of_two_answers_interleaves_them() {
  fixture_->engine().answer_with(
      [](const engine::GenerateRequest& request) { return *request.sampling.seed == 1 ? "one" : "two"; });
  std::map<int, std::string> texts;
  std::map<int, std::string> ends;
  for (const Json& chunk : stream(completion_body("ab", {{"n", 2}, {"seed", 1}}))) {
    const Json& choice = chunk["choices"][0];
    texts[choice["index"].get<int>()] += choice["text"].get<std::string>();
    if (!choice["finish_reason"].is_null()) ends[choice["index"].get<int>()] = choice["finish_reason"].get<std::string>();
  }
  QCOMPARE(texts[0], "one");
  QCOMPARE(texts[1], "two");
  QCOMPARE(ends.size(), std::size_t(2));
}

void CompletionsTest::continuous_usage_counts_up() {
  int last = 0;
  for (const Json& chunk : stream(completion_body("abc", {{"stream_options", {{"continuous_usage_stats", true}}}}))) {
    QVERIFY(chunk["usage"]["completion_tokens"] >= last);
    last = chunk["usage"]["completion_tokens"].get<int>();
  }
  QCOMPARE(last, 4);
}

/// 13 bytes at most are a token.
void CompletionsTest::a_prompt_of_too_many_bytes_is_refused_unread() {
  for (const Json& prompt : {Json(std::string(13 * 4096, 'x')), Json({"ab", std::string(13 * 4096, 'x')})}) {
    const HttpReply reply = post(completion_body(prompt));
    QCOMPARE(reply.status, 400);
    const std::string message = reply.json()["error"]["message"];
    QVERIFY2(message.find("your prompt has 53248 bytes, which are at least 4096 input tokens") != std::string::npos,
             message.c_str());
  }
  QVERIFY(fixture_->engine().submitted().empty());
}

void CompletionsTest::engine_defaults_are_the_starting_point() {
  post(completion_body("ab", {{"top_p", 0.5}}));
  const engine::SamplingParams sampling = fixture_->engine().submitted().back().sampling;
  QCOMPARE(sampling.top_p, 0.5);
  QCOMPARE(sampling.temperature, fixture_->engine().model().default_sampling.temperature);
}

void CompletionsTest::cache_salt_reaches_the_engine() {
  post(completion_body("ab", {{"cache_salt", "tenant"}}));
  QCOMPARE(fixture_->engine().submitted().back().cache_salt, "tenant");
  QCOMPARE(post(completion_body("ab", {{"cache_salt", ""}})).status, 400);
}

void CompletionsTest::a_full_queue_is_429_with_retry_after() {
  fixture_->engine().refuse_submits(
      engine::Error{engine::ErrorCode::resource_exhausted, "the queue is full: 1024 requests wait", {}});
  const HttpReply reply = post(completion_body("ab"));
  QCOMPARE(reply.status, 429);
  QCOMPARE(reply.field("Retry-After"), "1");
  QCOMPARE(reply.json()["error"]["type"], "rate_limit_error");
}

void CompletionsTest::a_lost_device_is_503_and_health_says_so() {
  QCOMPARE(HttpClient(fixture_->port()).get("/health").status, 200);
  fixture_->engine().lose_device({engine::ErrorCode::unavailable, "CUDA device 0 was lost", "device"});
  const HttpReply reply = post(completion_body("ab"));
  QCOMPARE(reply.status, 503);
  QVERIFY(reply.json()["error"]["message"].get<std::string>().find("CUDA device 0 was lost") != std::string::npos);
  const HttpReply health = HttpClient(fixture_->port()).get("/health");
  QCOMPARE(health.status, 503);
  QVERIFY2(health.body.find("CUDA device 0 was lost") != std::string::npos, health.body.c_str());
}

void CompletionsTest::a_failed_submit_of_several_leaves_none_running() {
  tests::FakeModel small;
  small.max_num_seqs = 2;
  small.max_queue = 1;
  fixture_->load(small);
  fixture_->engine().pause();
  QCOMPARE(post(completion_body("ab", {{"n", 4}})).status, 429);
  QVERIFY(fixture_->engine().wait_for_active(0));
}

LATHE_TEST(CompletionsTest)

}  // namespace completions_test
#include "completions_test.moc"
