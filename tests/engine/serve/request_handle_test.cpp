// SPDX-License-Identifier: Apache-2.0
#include <QObject>
#include <QtTest>

#include <atomic>
#include <thread>

#include "engine/api/request.h"
#include "tests/support/test_class.h"

namespace request_handle_test {

using namespace lathe::engine;

namespace {

TokenEvent token_event(std::int32_t id, std::string text) {
  TokenEvent event;
  event.token_ids = {id};
  event.text = std::move(text);
  event.usage.n_completion_tokens = id;
  return event;
}

}  // namespace

class RequestHandleTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void nothing_comes_before_the_first_push();
  void unread_events_are_joined();
  void a_read_event_does_not_come_again();
  void the_end_is_kept_with_what_came_before_it();
  void wait_gives_up_after_its_time();
  void wait_sees_a_push_of_another_thread();
  void wake_is_called_for_each_push();
  void a_late_wake_is_told_of_earlier_events();
  void a_wake_that_was_taken_away_does_not_run_any_more();
  void cancel_is_seen();
  void finish_reasons_have_openai_names();
};

void RequestHandleTest::nothing_comes_before_the_first_push() {
  RequestHandle handle(1);
  TokenEvent event;
  QVERIFY(!handle.poll(event));
  QCOMPARE(handle.id(), 1U);
}

void RequestHandleTest::unread_events_are_joined() {
  RequestHandle handle(1);
  TokenEvent first = token_event(1, "a"), second = token_event(2, "b");
  first.logprobs = {{{1, -0.5F}}};
  first.prompt_logprobs = {{}, {{4, -1.0F}}};
  second.logprobs = {{{2, -0.25F}}};
  first.marks = {{0, 7}};
  second.marks = {{1, 8}};
  handle.push(std::move(first));
  handle.push(std::move(second));
  TokenEvent event;
  QVERIFY(handle.poll(event));
  QCOMPARE(event.text, std::string("ab"));
  QVERIFY(event.marks.size() == 2 && event.marks[0].at == 0 && event.marks[1].at == 2 && event.marks[1].id == 8);
  QCOMPARE(event.token_ids, (std::vector<std::int32_t>{1, 2}));
  QCOMPARE(event.logprobs.size(), 2U);
  QCOMPARE(event.logprobs[1][0].id, 2);
  QCOMPARE(event.prompt_logprobs.size(), 2U);
  QCOMPARE(event.usage.n_completion_tokens, 2);
}

void RequestHandleTest::a_read_event_does_not_come_again() {
  RequestHandle handle(1);
  handle.push(token_event(1, "a"));
  TokenEvent event;
  QVERIFY(handle.poll(event));
  QVERIFY(!handle.poll(event));
  handle.push(token_event(2, "b"));
  QVERIFY(handle.poll(event));
  QCOMPARE(event.text, std::string("b"));
}

void RequestHandleTest::the_end_is_kept_with_what_came_before_it() {
  RequestHandle handle(1);
  handle.push(token_event(1, "a"));
  TokenEvent end;
  end.finished = true;
  end.finish_reason = FinishReason::error;
  end.error = Error{ErrorCode::internal, "broken", {}};
  handle.push(std::move(end));
  TokenEvent event;
  QVERIFY(handle.poll(event));
  QCOMPARE(event.text, std::string("a"));
  QVERIFY(event.finished);
  QCOMPARE(event.error->message, std::string("broken"));
}

void RequestHandleTest::wait_gives_up_after_its_time() {
  RequestHandle handle(1);
  TokenEvent event;
  QVERIFY(!handle.wait(event, std::chrono::milliseconds(1)));
}

void RequestHandleTest::wait_sees_a_push_of_another_thread() {
  RequestHandle handle(1);
  std::jthread engine([&handle] { handle.push(token_event(1, "a")); });
  TokenEvent event;
  QVERIFY(handle.wait(event, std::chrono::seconds(60)));
  QCOMPARE(event.text, std::string("a"));
}

void RequestHandleTest::wake_is_called_for_each_push() {
  RequestHandle handle(1);
  int n_wakes = 0;
  handle.on_wake([&n_wakes] { ++n_wakes; });
  QCOMPARE(n_wakes, 0);
  handle.push(token_event(1, "a"));
  handle.push(token_event(2, "b"));
  QCOMPARE(n_wakes, 2);
}

void RequestHandleTest::a_late_wake_is_told_of_earlier_events() {
  RequestHandle handle(1);
  handle.push(token_event(1, "a"));
  int n_wakes = 0;
  handle.on_wake([&n_wakes] { ++n_wakes; });
  QCOMPARE(n_wakes, 1);
}

void RequestHandleTest::a_wake_that_was_taken_away_does_not_run_any_more() {
  RequestHandle handle(1);
  std::atomic<bool> taken_away{false}, ran_after{false}, stop{false};
  handle.on_wake([&] {
    if (taken_away) ran_after = true;
  });
  std::jthread engine([&] {
    while (!stop) handle.push(token_event(1, "a"));
  });
  handle.on_wake({});
  taken_away = true;
  TokenEvent event;
  QVERIFY(handle.wait(event, std::chrono::seconds(60)));
  QVERIFY(handle.wait(event, std::chrono::seconds(60)));
  stop = true;
  QVERIFY(!ran_after);
}

void RequestHandleTest::cancel_is_seen() {
  RequestHandle handle(1);
  QVERIFY(!handle.cancelled());
  handle.cancel();
  QVERIFY(handle.cancelled());
}

void RequestHandleTest::finish_reasons_have_openai_names() {
  QCOMPARE(name_of(FinishReason::stop), std::string_view("stop"));
  QCOMPARE(name_of(FinishReason::length), std::string_view("length"));
  QCOMPARE(name_of(FinishReason::cancelled), std::string_view("abort"));
  QCOMPARE(name_of(FinishReason::error), std::string_view("error"));
}

LATHE_TEST(RequestHandleTest)

}  // namespace request_handle_test
#include "request_handle_test.moc"
