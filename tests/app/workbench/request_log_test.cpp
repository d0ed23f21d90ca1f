// SPDX-License-Identifier: Apache-2.0
#include "app/workbench/request_log.h"

#include <QTest>
#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/support/fake_loader.h"
#include "tests/support/test_class.h"

namespace request_log_test {

namespace {

using lathe::app::RequestLog;
using lathe::app::RequestRecord;
using lathe::app::RequestStatus;
using lathe::engine::FinishReason;
using lathe::engine::SchedulerEventKind;
using lathe::engine::TokenEvent;
using lathe::tests::greedy_request;

struct Bench {
  std::shared_ptr<lathe::tests::LoaderScript> script = std::make_shared<lathe::tests::LoaderScript>();
  std::unique_ptr<lathe::app::ModelSlot> slot = lathe::app::make_model_slot(lathe::tests::fake_loader(script));
  std::unique_ptr<RequestLog> log = lathe::app::make_request_log(*slot);

  bool load() const { return slot->load(lathe::tests::fake_options()).has_value() && slot->wait().has_value(); }

  /// Submits, enters and collects one request; returns its number in the table.
  std::uint64_t run_one(std::vector<std::int32_t> prompt, std::int64_t n_tokens) const {
    const auto handle = *slot->lease()->submit(greedy_request(std::move(prompt), n_tokens));
    RequestRecord record;
    record.engine_id = handle->id();
    const std::uint64_t number = log->begin(record);
    const auto answer = lathe::tests::collect(*handle);
    log->update(number, answer.all);
    return number;
  }
};

TokenEvent written(std::int64_t n) {
  TokenEvent event;
  event.usage.n_completion_tokens = n;
  return event;
}

TokenEvent finished(FinishReason reason, std::string stop = {}) {
  TokenEvent event = written(3);
  event.finished = true;
  event.finish_reason = reason;
  event.stop_reason = std::move(stop);
  return event;
}

bool has(const RequestRecord& record, SchedulerEventKind kind) {
  return std::any_of(record.why.begin(), record.why.end(), [&](const auto& event) { return event.kind == kind; });
}

}  // namespace

class RequestLogTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void an_entry_is_numbered_and_dated();
  void the_newest_comes_first();
  void a_thousand_are_kept();
  void tokens_make_it_writing();
  void the_end_says_why();
  void an_error_is_kept();
  void a_refused_request_has_its_status();
  void unknown_numbers_are_ignored();
  void clearing_keeps_running_requests();
  void the_revision_rises_with_changes_only();
  void every_status_has_a_word();
  void why_events_of_the_engine_are_attached();
  void why_events_go_to_their_own_request();
  void events_fetched_before_the_entry_are_not_lost();
  void a_new_model_does_not_touch_old_rows();
  void preemptions_are_told();
  void writers_and_readers_may_meet();
};

void RequestLogTest::an_entry_is_numbered_and_dated() {
  const Bench bench;
  const auto first = bench.log->begin({}), second = bench.log->begin({});
  QCOMPARE(second, first + 1);
  const RequestRecord record = *bench.log->record(first);
  QCOMPARE(record.number, first);
  QVERIFY(record.unix_ms > 1'600'000'000'000);
  QVERIFY(record.submitted_ns > 0);
  QVERIFY(record.status == RequestStatus::queued);
}

void RequestLogTest::the_newest_comes_first() {
  const Bench bench;
  for (const char* route : {"/a", "/b", "/c"}) {
    RequestRecord record;
    record.route = route;
    bench.log->begin(record);
  }
  const auto records = bench.log->records();
  QCOMPARE(records.size(), std::size_t{3});
  QCOMPARE(records.front().route, std::string("/c"));
  QCOMPARE(records.back().route, std::string("/a"));
}

void RequestLogTest::a_thousand_are_kept() {
  const Bench bench;
  for (int i = 0; i < 1005; ++i) bench.log->begin({});
  QCOMPARE(bench.log->records().size(), std::size_t{1000});
  QVERIFY(!bench.log->record(5).has_value());
  QVERIFY(bench.log->record(6).has_value());
  QVERIFY(bench.log->record(1005).has_value());
}

void RequestLogTest::tokens_make_it_writing() {
  const Bench bench;
  const auto number = bench.log->begin({});
  bench.log->update(number, written(0));
  QVERIFY(bench.log->record(number)->status == RequestStatus::queued);
  bench.log->update(number, written(2));
  QVERIFY(bench.log->record(number)->status == RequestStatus::writing);
  QCOMPARE(bench.log->record(number)->usage.n_completion_tokens, std::int64_t{2});
}

void RequestLogTest::the_end_says_why() {
  const Bench bench;
  const std::vector<std::tuple<TokenEvent, RequestStatus, std::string>> cases = {
      {finished(FinishReason::stop, "eos"), RequestStatus::done, "eos"},
      {finished(FinishReason::stop, "\n\n"), RequestStatus::done, "\n\n"},
      {finished(FinishReason::length), RequestStatus::done, "length"},
      {finished(FinishReason::cancelled), RequestStatus::cancelled, "client"},
  };
  for (const auto& [event, status, stop] : cases) {
    const auto number = bench.log->begin({});
    bench.log->update(number, event);
    QVERIFY(bench.log->record(number)->status == status);
    QCOMPARE(bench.log->record(number)->stop, stop);
  }
}

void RequestLogTest::an_error_is_kept() {
  const Bench bench;
  const auto number = bench.log->begin({});
  TokenEvent event = finished(FinishReason::error);
  event.error = lathe::engine::Error{lathe::engine::ErrorCode::internal, "NaN in the logits", ""};
  bench.log->update(number, event);
  QVERIFY(bench.log->record(number)->status == RequestStatus::failed);
  QCOMPARE(bench.log->record(number)->error, std::string("NaN in the logits"));
}

void RequestLogTest::a_refused_request_has_its_status() {
  const Bench bench;
  const auto number = bench.log->begin({});
  bench.log->refuse(number, 429, "queue full");
  QVERIFY(bench.log->record(number)->status == RequestStatus::refused);
  QCOMPARE(bench.log->record(number)->http_status, 429);
  QCOMPARE(bench.log->record(number)->error, std::string("queue full"));
}

void RequestLogTest::unknown_numbers_are_ignored() {
  const Bench bench;
  bench.log->begin({});
  const auto before = bench.log->revision();
  bench.log->update(77, written(1));
  bench.log->refuse(0, 400, "x");
  QCOMPARE(bench.log->revision(), before);
  QVERIFY(!bench.log->record(77).has_value());
}

void RequestLogTest::clearing_keeps_running_requests() {
  const Bench bench;
  const auto done = bench.log->begin({}), running = bench.log->begin({}), refused = bench.log->begin({});
  bench.log->update(done, finished(FinishReason::length));
  bench.log->refuse(refused, 400, "x");
  bench.log->clear();
  QCOMPARE(bench.log->records().size(), std::size_t{1});
  QVERIFY(bench.log->record(running).has_value());
  bench.log->update(running, written(9));
  QCOMPARE(bench.log->record(running)->usage.n_completion_tokens, std::int64_t{9});
}

void RequestLogTest::the_revision_rises_with_changes_only() {
  const Bench bench;
  const auto r0 = bench.log->revision();
  const auto number = bench.log->begin({});
  const auto r1 = bench.log->revision();
  QVERIFY(r1 > r0);
  bench.log->records();
  QCOMPARE(bench.log->revision(), r1);
  bench.log->update(number, written(1));
  QVERIFY(bench.log->revision() > r1);
}

void RequestLogTest::every_status_has_a_word() {
  for (int i = 0; i <= static_cast<int>(RequestStatus::failed); ++i) {
    QVERIFY(name_of(static_cast<RequestStatus>(i)).size() > 3);
  }
}

void RequestLogTest::why_events_of_the_engine_are_attached() {
  const Bench bench;
  QVERIFY(bench.load());
  const auto number = bench.run_one({7, 8, 9}, 4);
  const RequestRecord record = *bench.log->record(number);
  QVERIFY(record.status == RequestStatus::done);
  QVERIFY(has(record, SchedulerEventKind::queued));
  QVERIFY(has(record, SchedulerEventKind::admitted));
  QVERIFY(has(record, SchedulerEventKind::finished));
  for (const auto& event : record.why) QVERIFY(!sentence_of(event).empty());
}

void RequestLogTest::why_events_go_to_their_own_request() {
  const Bench bench;
  QVERIFY(bench.load());
  const auto a = bench.run_one({7, 8, 9}, 4), b = bench.run_one({9, 8}, 2);
  const RequestRecord first = *bench.log->record(a), second = *bench.log->record(b);
  for (const auto& event : first.why) QCOMPARE(event.request_id, first.engine_id);
  for (const auto& event : second.why) QCOMPARE(event.request_id, second.engine_id);
  QVERIFY(!first.why.empty() && !second.why.empty());
}

void RequestLogTest::events_fetched_before_the_entry_are_not_lost() {
  const Bench bench;
  QVERIFY(bench.load());
  const auto handle = *bench.slot->lease()->submit(greedy_request({7, 8, 9}, 3));
  const auto answer = lathe::tests::collect(*handle);
  bench.log->records();  // fetches the events of a request that nobody has entered
  RequestRecord record;
  record.engine_id = handle->id();
  const auto number = bench.log->begin(record);
  bench.log->update(number, answer.all);
  QVERIFY(has(*bench.log->record(number), SchedulerEventKind::admitted));
}

void RequestLogTest::a_new_model_does_not_touch_old_rows() {
  const Bench bench;
  QVERIFY(bench.load());
  const auto old_number = bench.run_one({7, 8, 9}, 4);
  const RequestRecord before = *bench.log->record(old_number);
  QVERIFY(bench.load());
  const auto new_number = bench.run_one({7, 8, 9}, 4);
  QCOMPARE(bench.log->record(new_number)->engine_id, before.engine_id);
  QCOMPARE(bench.log->record(old_number)->why.size(), before.why.size());
  QVERIFY(!bench.log->record(new_number)->why.empty());
}

void RequestLogTest::preemptions_are_told() {
  const Bench bench;
  bench.script->engine.n_blocks = 12;  // 48 tokens: three requests of 4 + 20 do not fit
  std::atomic<bool> all_submitted = false;
  bench.script->runner->before_run = [&](const auto&) { all_submitted.wait(false); };
  QVERIFY(bench.load());
  std::vector<std::pair<std::uint64_t, lathe::engine::RequestHandlePtr>> running;
  for (int i = 0; i < 3; ++i) {
    const auto handle =
        *bench.slot->lease()->submit(greedy_request(lathe::tests::random_prompt(static_cast<std::uint64_t>(i), 4), 20));
    RequestRecord record;
    record.engine_id = handle->id();
    running.emplace_back(bench.log->begin(record), handle);
  }
  all_submitted = true;
  all_submitted.notify_all();
  int n_preempted = 0;
  for (const auto& [number, handle] : running) bench.log->update(number, lathe::tests::collect(*handle).all);
  for (const auto& [number, handle] : running) {
    n_preempted += has(*bench.log->record(number), SchedulerEventKind::preempted) ? 1 : 0;
  }
  QVERIFY(n_preempted > 0);
}

void RequestLogTest::writers_and_readers_may_meet() {
  const Bench bench;
  QVERIFY(bench.load());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) bench.run_one({7, 8}, 2);
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        bench.log->records();
        bench.log->revision();
      }
    });
  }
  const auto records = bench.log->records();
  QCOMPARE(records.size(), std::size_t{40});
  for (const RequestRecord& record : records) QVERIFY(has(record, SchedulerEventKind::finished));
}

LATHE_TEST(RequestLogTest)

}  // namespace request_log_test
#include "request_log_test.moc"
