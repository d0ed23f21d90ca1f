// SPDX-License-Identifier: Apache-2.0
#include "app/api/chat_session.h"

#include <QTest>
#include <future>
#include <thread>

#include "app/workbench/request_log.h"
#include "tests/support/fake_loader.h"
#include "tests/support/test_class.h"

namespace chat_session_test {

namespace {

using lathe::app::ChatGeneration;
using lathe::app::ChatTurn;
using lathe::app::count_tokens;
using lathe::app::RequestStatus;
using lathe::app::start_chat;
using lathe::engine::ErrorCode;
using lathe::engine::FinishReason;
using lathe::engine::TokenEvent;

struct Bench {
  std::shared_ptr<lathe::tests::LoaderScript> script = std::make_shared<lathe::tests::LoaderScript>();
  std::unique_ptr<lathe::app::ModelSlot> slot = lathe::app::make_model_slot(lathe::tests::fake_loader(script));
  std::unique_ptr<lathe::app::RequestLog> log = lathe::app::make_request_log(*slot);

  bool load() const { return slot->load(lathe::tests::fake_options()).has_value() && slot->wait().has_value(); }
};

ChatTurn turn(std::string text, std::int64_t max_tokens = 5) {
  ChatTurn turn;
  turn.messages = {{"user", std::move(text)}};
  turn.sampling.temperature = 0;
  turn.sampling.max_tokens = max_tokens;
  return turn;
}

/// Reads to the end; the last event, with the text of all.
TokenEvent read_all(ChatGeneration& generation) {
  TokenEvent event;
  std::string text;
  while (!event.finished) {
    event = {};
    if (!generation.wait(event, std::chrono::seconds(60))) return {};
    text += event.text;
  }
  event.text = text;
  return event;
}

}  // namespace

class ChatSessionTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void without_a_model_it_is_unavailable();
  void an_answer_comes_token_by_token();
  void the_table_of_requests_knows_it();
  void the_same_turn_gives_the_same_answer();
  void continuing_renders_an_open_message();
  void a_model_without_template_says_so();
  void errors_of_the_template_come_through();
  void S9_a_conversation_that_is_too_long_is_refused_with_numbers();
  void a_refused_turn_leaves_no_row();
  void cancel_ends_it();
  void dropping_it_cancels_it();
  void dropping_it_keeps_its_numbers();
  void a_failed_step_is_an_error_of_this_answer();
  void tokens_of_a_conversation_are_counted();
};

void ChatSessionTest::without_a_model_it_is_unavailable() {
  const Bench bench;
  QCOMPARE(start_chat(*bench.slot, *bench.log, turn("hi")).error().code, ErrorCode::unavailable);
  QCOMPARE(count_tokens(*bench.slot, {{"user", "hi"}}).error().code, ErrorCode::unavailable);
}

void ChatSessionTest::an_answer_comes_token_by_token() {
  const Bench bench;
  QVERIFY(bench.load());
  const auto generation = std::move(*start_chat(*bench.slot, *bench.log, turn("hi", 7)));
  const TokenEvent end = read_all(*generation);
  QVERIFY(end.finished);
  QCOMPARE(end.usage.n_completion_tokens, std::int64_t{7});
  QVERIFY(!end.text.empty());
}

void ChatSessionTest::the_table_of_requests_knows_it() {
  const Bench bench;
  QVERIFY(bench.load());
  const auto generation = std::move(*start_chat(*bench.slot, *bench.log, turn("hi")));
  QCOMPARE(bench.log->records().size(), std::size_t{1});
  read_all(*generation);
  const auto record = *bench.log->record(generation->record_number());
  QCOMPARE(record.engine_id, generation->engine_id());
  QCOMPARE(record.source, std::string("chat"));
  QCOMPARE(record.client, std::string("Lathe chat"));
  QCOMPARE(record.route, std::string("Chat page"));
  QCOMPARE(record.model, std::string("fake"));
  QVERIFY(record.status == RequestStatus::done);
  QCOMPARE(record.usage.n_completion_tokens, std::int64_t{5});
  QVERIFY(record.usage.n_prompt_tokens > 5);
  QVERIFY(!record.why.empty());
}

void ChatSessionTest::the_same_turn_gives_the_same_answer() {
  const Bench bench;
  QVERIFY(bench.load());
  const std::string one = read_all(**start_chat(*bench.slot, *bench.log, turn("hello there", 20))).text;
  const std::string two = read_all(**start_chat(*bench.slot, *bench.log, turn("hello there", 20))).text;
  QCOMPARE(one, two);
}

void ChatSessionTest::continuing_renders_an_open_message() {
  const Bench bench;
  QVERIFY(bench.load());
  ChatTurn open = turn("hi");
  open.messages.push_back({"assistant", "well"});
  const std::size_t n_closed = static_cast<std::size_t>(*count_tokens(*bench.slot, open.messages));
  open.continue_final_message = true;
  const auto generation = std::move(*start_chat(*bench.slot, *bench.log, open));
  const auto n_open = static_cast<std::size_t>(read_all(*generation).usage.n_prompt_tokens);
  // Neither the end mark of the message nor the words that begin an answer.
  QCOMPARE(n_open, n_closed - std::string(";assistant:").size());
}

void ChatSessionTest::a_model_without_template_says_so() {
  const Bench bench;
  bench.script->with_chat_template = false;
  QVERIFY(bench.load());
  const auto generation = start_chat(*bench.slot, *bench.log, turn("hi"));
  QCOMPARE(generation.error().code, ErrorCode::invalid_argument);
  QVERIFY(generation.error().message.find("chat template") != std::string::npos);
}

void ChatSessionTest::errors_of_the_template_come_through() {
  const Bench bench;
  QVERIFY(bench.load());
  const auto generation = start_chat(*bench.slot, *bench.log, ChatTurn{});
  QCOMPARE(generation.error().message, std::string("no messages"));
}

void ChatSessionTest::S9_a_conversation_that_is_too_long_is_refused_with_numbers() {
  const Bench bench;
  QVERIFY(bench.load());
  const auto generation = start_chat(*bench.slot, *bench.log, turn(std::string(500, 'x')));
  QVERIFY(!generation.has_value());
  QCOMPARE(generation.error().code, ErrorCode::invalid_argument);
  QVERIFY2(generation.error().message.find("200") != std::string::npos, generation.error().message.c_str());
}

void ChatSessionTest::a_refused_turn_leaves_no_row() {
  const Bench bench;
  QVERIFY(bench.load());
  ChatTurn bad = turn("hi");
  bad.sampling.temperature = -1;
  QVERIFY(!start_chat(*bench.slot, *bench.log, bad).has_value());
  QVERIFY(bench.log->records().empty());
}

void ChatSessionTest::cancel_ends_it() {
  const Bench bench;
  QVERIFY(bench.load());
  const auto generation = std::move(*start_chat(*bench.slot, *bench.log, turn("hi", 150)));
  generation->cancel();
  const TokenEvent end = read_all(*generation);
  // It may have been faster than the cancel.
  if (end.finish_reason != FinishReason::cancelled) QCOMPARE(end.usage.n_completion_tokens, std::int64_t{150});
  QVERIFY(bench.log->record(generation->record_number())->status != RequestStatus::writing);
}

void ChatSessionTest::dropping_it_cancels_it() {
  const Bench bench;
  bench.script->runner->before_run = [](const auto&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  QVERIFY(bench.load());
  auto generation = std::move(*start_chat(*bench.slot, *bench.log, turn("hi", 150)));
  const auto number = generation->record_number();
  generation.reset();
  QVERIFY(bench.log->record(number)->status == RequestStatus::cancelled);
  QTRY_COMPARE_WITH_TIMEOUT(bench.slot->lease()->snapshot()->n_running, 0, 20'000);
  QCOMPARE(bench.slot->lease()->snapshot()->n_blocks_used, 0);
}

void ChatSessionTest::dropping_it_keeps_its_numbers() {
  const Bench bench;
  std::promise<void> gate;
  bench.script->runner->before_run = [n = 0, open = gate.get_future().share()](const auto&) mutable {
    if (++n == 3) open.wait();
  };
  QVERIFY(bench.load());
  auto generation = std::move(*start_chat(*bench.slot, *bench.log, turn("hi", 150)));
  const auto number = generation->record_number();
  TokenEvent event;
  while (event.usage.n_completion_tokens < 2) QVERIFY(generation->wait(event, std::chrono::seconds(60)));
  generation.reset();  // the engine stands at its third step: there is no last event
  const auto record = *bench.log->record(number);
  gate.set_value();
  QVERIFY(record.status == RequestStatus::cancelled);
  QCOMPARE(record.usage.n_completion_tokens, std::int64_t{2});
  QCOMPARE(record.usage.n_prompt_tokens, event.usage.n_prompt_tokens);
  QVERIFY(record.usage.n_prompt_tokens > 0);
  QCOMPARE(record.timings.ttft_ms, event.timings.ttft_ms);
}

void ChatSessionTest::a_failed_step_is_an_error_of_this_answer() {
  const Bench bench;
  QVERIFY(bench.load());
  bench.script->runner->n_failures_to_come = 1;
  const auto generation = std::move(*start_chat(*bench.slot, *bench.log, turn("hi")));
  const TokenEvent end = read_all(*generation);
  QVERIFY(end.finish_reason == FinishReason::error);
  QVERIFY(end.error.has_value());
  QVERIFY(bench.log->record(generation->record_number())->status == RequestStatus::failed);
  QVERIFY(read_all(**start_chat(*bench.slot, *bench.log, turn("hi"))).finished);
}

void ChatSessionTest::tokens_of_a_conversation_are_counted() {
  const Bench bench;
  QVERIFY(bench.load());
  const auto one = *count_tokens(*bench.slot, {{"user", "hi"}});
  const auto two = *count_tokens(*bench.slot, {{"user", "hi there"}});
  QCOMPARE(two, one + 6);
}

LATHE_TEST(ChatSessionTest)

}  // namespace chat_session_test
#include "chat_session_test.moc"
