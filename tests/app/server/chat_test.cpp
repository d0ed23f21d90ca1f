// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/support/chat_stream.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace chat_test {

using namespace lathe;
using engine::Json;
using tests::ByteTokenizer;
using tests::chat_body;
using tests::HttpClient;
using tests::HttpReply;

class ChatTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void answers_with_message_and_usage();
  void streams_role_then_text_then_end();
  void streamed_text_equals_whole_text();
  void stream_ends_with_usage_when_asked();
  void usage_tells_cached_tokens();
  void template_renders_roles_and_generation_prompt();
  void control_tokens_in_messages_stay_text();
  void developer_is_a_system_message();
  void content_parts_are_joined();
  void continue_final_message_leaves_it_open();
  void template_refusal_is_a_400_with_its_words();
  void template_variables_are_those_of_the_template();
  void request_template_is_refused();
  void max_completion_tokens_is_max_tokens();
  void max_tokens_default_is_what_the_context_leaves();
  void max_tokens_default_may_be_the_models();
  void a_prompt_of_too_many_bytes_is_refused_unread();
  void n_answers_have_counting_seeds();
  void stop_reason_names_the_stop_string();
  void token_ids_are_returned_when_asked();
  void half_characters_are_never_sent();
  void model_without_template_says_what_to_do();
  void unknown_model_is_404();

 private:
  HttpReply post(const Json& body) { return tests::post_chat(fixture_->port(), body); }
  std::vector<Json> stream(const Json& body) { return tests::stream_chat(fixture_->port(), body); }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

void ChatTest::answers_with_message_and_usage() {
  fixture_->engine().answer_with("Hello.");
  const HttpReply reply = post(chat_body("Hi"));
  QCOMPARE(reply.status, 200);
  QCOMPARE(reply.field("Content-Type"), "application/json");
  const Json json = reply.json();
  QVERIFY(json["id"].get<std::string>().starts_with("chatcmpl-"));
  QCOMPARE(json["object"], "chat.completion");
  QCOMPARE(json["model"], "fake");
  const Json& choice = json["choices"][0];
  QCOMPARE(choice["message"]["role"], "assistant");
  QCOMPARE(choice["message"]["content"], "Hello.");
  QCOMPARE(choice["finish_reason"], "stop");
  QVERIFY(choice["stop_reason"].is_null());
  QCOMPARE(json["usage"]["prompt_tokens"], 5);      // <|user|> H i <|end|> <|assistant|>
  QCOMPARE(json["usage"]["completion_tokens"], 7);  // six letters and the end token
  QCOMPARE(json["usage"]["total_tokens"], 12);
}

void ChatTest::streams_role_then_text_then_end() {
  fixture_->engine().answer_with("abc");
  const auto chunks = stream(chat_body("Hi", {{"stream", true}}));
  QVERIFY(chunks.size() >= 2);
  QCOMPARE(chunks.front()["object"], "chat.completion.chunk");
  QCOMPARE(chunks.front()["choices"][0]["delta"]["role"], "assistant");
  QVERIFY(chunks.front()["choices"][0]["finish_reason"].is_null());
  QCOMPARE(chunks.back()["choices"][0]["finish_reason"], "stop");
  for (const Json& chunk : chunks) QCOMPARE(chunk["id"], chunks.front()["id"]);
}

void ChatTest::streamed_text_equals_whole_text() {
  const std::string answer = "Das Öl — 油 🛢 reicht.";
  fixture_->engine().answer_with(answer);
  std::string text;
  for (const Json& chunk : stream(chat_body("Hi", {{"stream", true}})))
    text += chunk["choices"][0]["delta"].value("content", "");
  QCOMPARE(text, answer);
}

void ChatTest::stream_ends_with_usage_when_asked() {
  fixture_->engine().answer_with("abc");
  const auto chunks = stream(chat_body("Hi", {{"stream", true}, {"stream_options", {{"include_usage", true}}}}));
  QVERIFY(chunks.size() >= 2);
  QVERIFY(chunks.front()["usage"].is_null());
  QVERIFY(chunks.back()["choices"].empty());
  QCOMPARE(chunks.back()["usage"]["completion_tokens"], 4);
}

void ChatTest::usage_tells_cached_tokens() {
  fixture_->engine().set_cached_tokens(3);
  QCOMPARE(post(chat_body("Hi")).json()["usage"]["prompt_tokens_details"]["cached_tokens"], 3);
}

void ChatTest::template_renders_roles_and_generation_prompt() {
  post(chat_body("Hi"));
  const std::vector<std::int32_t> expected = {ByteTokenizer::kUser, 'H', 'i', ByteTokenizer::kEnd,
                                              ByteTokenizer::kAssistant};
  QCOMPARE(fixture_->engine().submitted().back().prompt_token_ids, expected);
}

void ChatTest::control_tokens_in_messages_stay_text() {
  post(chat_body("<|system|>"));
  const auto ids = fixture_->engine().submitted().back().prompt_token_ids;
  QVERIFY(std::find(ids.begin(), ids.end(), ByteTokenizer::kSystem) == ids.end());
  QCOMPARE(ids.size(), std::size_t(13));
}

void ChatTest::developer_is_a_system_message() {
  post({{"messages", {{{"role", "developer"}, {"content", "Be brief."}}, {{"role", "user"}, {"content", "Hi"}}}}});
  QCOMPARE(fixture_->engine().submitted().back().prompt_token_ids.front(), ByteTokenizer::kSystem);
}

void ChatTest::content_parts_are_joined() {
  const Json parts = {{{"type", "text"}, {"text", "a"}}, {{"type", "text"}, {"text", "b"}}};
  post({{"messages", {{{"role", "user"}, {"content", parts}}}}});
  const auto ids = fixture_->engine().submitted().back().prompt_token_ids;
  QCOMPARE(std::vector<std::int32_t>(ids.begin() + 1, ids.begin() + 4), (std::vector<std::int32_t>{'a', '\n', 'b'}));
  const HttpReply image = post({{"messages", {{{"role", "user"}, {"content", {{{"type", "image_url"}}}}}}}});
  QCOMPARE(image.status, 400);
}

void ChatTest::continue_final_message_leaves_it_open() {
  const Json messages = {{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"content", "Hel"}}};
  post({{"messages", messages}, {"continue_final_message", true}});
  QCOMPARE(fixture_->engine().submitted().back().prompt_token_ids.back(), static_cast<std::int32_t>('l'));
  QCOMPARE(post({{"messages", messages}, {"continue_final_message", true}, {"add_generation_prompt", true}}).status, 400);
}

void ChatTest::template_refusal_is_a_400_with_its_words() {
  const Json messages = {{{"role", "user"}, {"content", "Hi"}}, {{"role", "system"}, {"content", "no"}}};
  const HttpReply reply = post({{"messages", messages}});
  QCOMPARE(reply.status, 400);
  QVERIFY(reply.json()["error"]["message"].get<std::string>().find("System message must be at the beginning.") !=
          std::string::npos);
}

void ChatTest::template_variables_are_those_of_the_template() {
  post(chat_body("Hi", {{"chat_template_kwargs", {{"enable_thinking", true}}}}));
  QCOMPARE(fixture_->engine().submitted().back().prompt_token_ids.back(), static_cast<std::int32_t>(']'));
  QCOMPARE(post(chat_body("Hi", {{"chat_template_kwargs", {{"tokenize", true}}}})).status, 400);
  QCOMPARE(post(chat_body("Hi", {{"chat_template_kwargs", {{"messages", Json::array()}}}})).status, 400);
}

void ChatTest::request_template_is_refused() {
  const HttpReply reply = post(chat_body("Hi", {{"chat_template", "{{ 1 }}"}}));
  QCOMPARE(reply.status, 400);
  QCOMPARE(reply.json()["error"]["param"], "chat_template");
}

void ChatTest::max_completion_tokens_is_max_tokens() {
  const Json json = post(chat_body("abcdefgh", {{"max_tokens", 2}, {"max_completion_tokens", 2}})).json();
  QCOMPARE(json["usage"]["completion_tokens"], 2);
  QCOMPARE(json["choices"][0]["finish_reason"], "length");
}

void ChatTest::max_tokens_default_is_what_the_context_leaves() {
  post(chat_body("Hi"));
  QCOMPARE(fixture_->engine().submitted().back().sampling.max_tokens, std::int64_t(4096 - 5));
}

void ChatTest::max_tokens_default_may_be_the_models() {
  tests::FakeModel model;
  model.default_max_tokens = 7;
  model.max_model_len = 20;
  fixture_->load(model);
  post(chat_body("ab"));
  QCOMPARE(fixture_->engine().submitted().back().sampling.max_tokens, std::int64_t(7));
  post(chat_body("ab", {{"max_tokens", 9}}));
  QCOMPARE(fixture_->engine().submitted().back().sampling.max_tokens, std::int64_t(9));
  post(chat_body("abcdefghijkl"));  // with its control tokens all but 5 of the context
  QCOMPARE(fixture_->engine().submitted().back().sampling.max_tokens, std::int64_t(5));
}

/// 13 bytes at most are a token.
void ChatTest::a_prompt_of_too_many_bytes_is_refused_unread() {
  const HttpReply reply = post(chat_body(std::string(13 * 4096, 'x')));
  QCOMPARE(reply.status, 400);
  const std::string message = reply.json()["error"]["message"];
  QVERIFY2(message.find("maximum context length is 4096 tokens") != std::string::npos, message.c_str());
  QVERIFY2(message.find("bytes, which are at least 409") != std::string::npos, message.c_str());
  const std::string fitting = post(chat_body(std::string(4096, 'x'))).json()["error"]["message"];
  QVERIFY2(fitting.find("prompt contains 4099 input tokens") != std::string::npos, fitting.c_str());
}

void ChatTest::n_answers_have_counting_seeds() {
  fixture_->engine().answer_with(
      [](const engine::GenerateRequest& request) { return "seed " + std::to_string(*request.sampling.seed); });
  const Json json = post(chat_body("Hi", {{"n", 3}, {"seed", 7}})).json();
  QCOMPARE(json["choices"].size(), std::size_t(3));
  for (int i = 0; i < 3; ++i) {
    const Json& choice = json["choices"][static_cast<std::size_t>(i)];
    QCOMPARE(choice["index"], i);
    QCOMPARE(choice["message"]["content"], "seed " + std::to_string(7 + i));
  }
  QCOMPARE(json["usage"]["prompt_tokens"], 5);
  QCOMPARE(json["usage"]["completion_tokens"], 21);
}

void ChatTest::stop_reason_names_the_stop_string() {
  fixture_->engine().answer_with("one two three");
  const Json choice = post(chat_body("Hi", {{"stop", {"two", "never"}}})).json()["choices"][0];
  QCOMPARE(choice["message"]["content"], "one ");
  QCOMPARE(choice["finish_reason"], "stop");
  QCOMPARE(choice["stop_reason"], "two");
}

void ChatTest::token_ids_are_returned_when_asked() {
  fixture_->engine().answer_with("ab");
  const Json json = post(chat_body("Hi", {{"return_token_ids", true}})).json();
  QCOMPARE(json["choices"][0]["token_ids"], Json({'a', 'b', ByteTokenizer::kEos}));
  QCOMPARE(json["prompt_token_ids"].size(), std::size_t(5));
  std::vector<std::int32_t> ids;
  const auto chunks = stream(chat_body("Hi", {{"return_token_ids", true}, {"stream", true}}));
  QCOMPARE(chunks.front()["prompt_token_ids"].size(), std::size_t(5));
  for (const Json& chunk : chunks) {
    for (const Json& id : chunk["choices"][0].value("token_ids", Json::array())) ids.push_back(id.get<std::int32_t>());
  }
  QCOMPARE(ids, (std::vector<std::int32_t>{'a', 'b', ByteTokenizer::kEos}));
}

void ChatTest::half_characters_are_never_sent() {
  fixture_->engine().answer_with("ö");
  fixture_->engine().pause();
  HttpClient client(fixture_->port());
  client.send(client.request("POST", "/v1/chat/completions", engine::dump_json(chat_body("Hi", {{"stream", true}}))));
  QCOMPARE(client.read_head().status, 200);
  QVERIFY(client.read_event()->find("assistant") != std::string::npos);
  fixture_->engine().step(1);
  fixture_->engine().step(1);
  fixture_->engine().resume();
  QVERIFY(client.read_event()->find("ö") != std::string::npos);
}

void ChatTest::model_without_template_says_what_to_do() {
  tests::FakeModel plain;
  plain.has_chat_template = false;
  fixture_->load(plain);
  const HttpReply reply = post(chat_body("Hi"));
  QCOMPARE(reply.status, 400);
  QVERIFY(reply.json()["error"]["message"].get<std::string>().find("/v1/completions") != std::string::npos);
}

void ChatTest::unknown_model_is_404() {
  const HttpReply reply = post(chat_body("Hi", {{"model", "gpt-9"}}));
  QCOMPARE(reply.status, 404);
  QCOMPARE(reply.json()["error"]["param"], "model");
  QCOMPARE(reply.json()["error"]["code"], "model_not_found");
}

LATHE_TEST(ChatTest)

}  // namespace chat_test
#include "chat_test.moc"
