// SPDX-License-Identifier: Apache-2.0
// Steps that fail, rows without probabilities, full queues, shutting down: one bad request costs one request.
#include <QObject>
#include <QtTest>

#include <atomic>
#include <semaphore>
#include <thread>

#include "engine/base/utf8.h"
#include "tests/support/engine_harness.h"
#include "tests/support/test_class.h"

namespace engine_faults_test {

using namespace lathe::engine;
using namespace lathe::tests;

class EngineFaultsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void E8_nan_ends_its_request_and_no_other();
  void E8_nan_in_a_row_of_the_prompt_ends_its_request();
  void E8_what_a_nan_request_computed_is_not_cached();
  void T12_no_token_that_may_follow_ends_its_request_and_no_other();
  void what_was_held_back_comes_before_the_error();
  void a_failed_step_ends_its_requests_and_the_engine_goes_on();
  void a_step_without_device_memory_ends_its_requests_and_the_engine_goes_on();
  void a_lost_device_ends_all_requests_and_takes_no_more();
  void an_exception_of_the_runner_ends_its_requests_and_the_engine_goes_on();
  void a_failed_step_leaves_the_queue_alone();
  void S23_one_more_than_the_queue_holds_is_refused();
  void S23_a_queue_that_drained_takes_new_requests();
  void a_request_that_runs_at_once_needs_no_place_in_the_queue();
  void S23_as_many_as_may_run_and_wait_are_taken();
  void refused_requests_leave_no_trace();
  void shutting_down_lets_running_requests_finish();
  void shutting_down_cancels_when_patience_ends();
  void after_shutting_down_requests_are_refused();
  void shutting_down_twice_is_harmless();
  void an_engine_can_go_with_requests_in_flight();
  void a_reader_that_never_reads_does_not_stop_the_engine();
  void handles_outlive_the_engine();
};

void EngineFaultsTest::E8_nan_ends_its_request_and_no_other() {
  auto script = std::make_shared<FakeScript>();
  script->poison = 63;
  Harness harness({}, script);
  auto poisoned = random_prompt(1, 10, 60);
  poisoned[4] = 63;
  // The others must not come upon the poison by themselves.
  GenerateRequest healthy = greedy_request(random_prompt(2, 10, 60), 30);
  healthy.sampling.logit_bias = {{63, -100.0F}};
  auto good = *harness.engine->submit(healthy);
  auto bad = *harness.engine->submit(greedy_request(poisoned, 30));
  const Answer answer = collect(*bad);
  QCOMPARE(answer.all.finish_reason, FinishReason::error);
  QCOMPARE(answer.all.error->code, ErrorCode::internal);
  QVERIFY(answer.ids().empty());
  QCOMPARE(collect(*good).ids().size(), 30U);
  QCOMPARE(harness.engine->snapshot()->counters.n_finished_error, 1U);
  QCOMPARE(harness.engine->snapshot()->n_blocks_used, 0);
}

void EngineFaultsTest::T12_no_token_that_may_follow_ends_its_request_and_no_other() {
  auto script = std::make_shared<FakeScript>();
  script->barred = 63;
  Harness harness({}, script);
  auto barred = random_prompt(1, 10, 60);
  barred.back() = 63;
  GenerateRequest healthy = greedy_request(random_prompt(2, 10, 60), 30);
  healthy.sampling.logit_bias = {{63, -100.0F}};
  auto good = *harness.engine->submit(healthy);
  for (const float temperature : {0.0F, 1.0F}) {
    GenerateRequest request = greedy_request(barred, 30);
    request.sampling.temperature = temperature;
    const Answer answer = collect(**harness.engine->submit(request));
    QCOMPARE(answer.all.finish_reason, FinishReason::error);
    QCOMPARE(answer.all.error->code, ErrorCode::internal);
    QVERIFY(answer.ids().empty());
  }
  QCOMPARE(collect(*good).ids().size(), 30U);
  QCOMPARE(harness.engine->snapshot()->n_blocks_used, 0);
}

/// One row of the prompt is poisoned, the one that gives the first token is not.
void EngineFaultsTest::E8_nan_in_a_row_of_the_prompt_ends_its_request() {
  auto script = std::make_shared<FakeScript>();
  script->end_poison = 63;
  Harness harness({}, script);
  auto prompt = random_prompt(1, 10, 60);
  prompt[4] = 63;
  GenerateRequest request = greedy_request(prompt, 3);
  request.sampling.logit_bias = {{63, -100.0F}};
  QCOMPARE(ask(*harness.engine, request).ids().size(), 3U);
  request.cache_salt = "again";
  request.sampling.prompt_logprobs = 2;
  const Answer answer = ask(*harness.engine, request);
  QCOMPARE(answer.all.finish_reason, FinishReason::error);
  QCOMPARE(answer.all.error->code, ErrorCode::internal);
  QVERIFY(answer.ids().empty());
}

/// A stop string that the whole answer begins holds all of it back.
void EngineFaultsTest::what_was_held_back_comes_before_the_error() {
  auto script = std::make_shared<FakeScript>();
  int n_steps = 0;
  script->before_run = [&](const BatchPlan&) {
    if (++n_steps == 6) script->n_failures_to_come = 1;
  };
  Harness harness({}, script);
  const auto prompt = random_prompt(1, 8);
  const auto expected = harness.expected(prompt, 5);
  GenerateRequest request = greedy_request(prompt, 40);
  request.sampling.stop = {repaired_utf8(harness.engine->tokenizer().decode(harness.expected(prompt, 12), true)) + "never"};
  const Answer answer = ask(*harness.engine, request);
  QCOMPARE(answer.all.finish_reason, FinishReason::error);
  QCOMPARE(answer.ids(), expected);
  QVERIFY(!answer.all.text.empty());
  QCOMPARE(answer.all.text, repaired_utf8(harness.engine->tokenizer().decode(expected, true)));
}

void EngineFaultsTest::E8_what_a_nan_request_computed_is_not_cached() {
  auto script = std::make_shared<FakeScript>();
  script->poison = 63;
  HarnessOptions options;
  options.engine.max_num_batched_tokens = 16;  // chunks: the first ones are done before the fault shows
  Harness harness(options, script);
  auto prompt = random_prompt(1, 40, 60);
  prompt[39] = 63;
  QCOMPARE(ask(*harness.engine, greedy_request(prompt, 4)).all.finish_reason, FinishReason::error);
  QCOMPARE(harness.engine->snapshot()->n_blocks_cached, 0);
}

void EngineFaultsTest::a_failed_step_ends_its_requests_and_the_engine_goes_on() {
  Harness harness;
  harness.script->n_failures_to_come = 1;
  const auto prompt = random_prompt(1, 10);
  const Answer failed = ask(*harness.engine, greedy_request(prompt, 5));
  QCOMPARE(failed.all.finish_reason, FinishReason::error);
  QCOMPARE(failed.all.error->message, std::string("scripted failure"));
  QCOMPARE(harness.engine->snapshot()->n_blocks_used, 0);
  QCOMPARE(ask(*harness.engine, greedy_request(prompt, 5)).ids(), harness.expected(prompt, 5));
}

void EngineFaultsTest::a_step_without_device_memory_ends_its_requests_and_the_engine_goes_on() {
  Harness harness;
  harness.script->failure = {ErrorCode::resource_exhausted, "CUDA device 0 ran out of memory", "device memory"};
  harness.script->n_failures_to_come = 1;
  const auto prompt = random_prompt(1, 10);
  const Answer failed = ask(*harness.engine, greedy_request(prompt, 5));
  QCOMPARE(failed.all.finish_reason, FinishReason::error);
  QCOMPARE(failed.all.error->code, ErrorCode::resource_exhausted);
  QVERIFY(!harness.engine->failure().has_value());
  QCOMPARE(harness.engine->snapshot()->n_blocks_cached, 0);  // the rows were not computed
  QCOMPARE(ask(*harness.engine, greedy_request(prompt, 5)).ids(), harness.expected(prompt, 5));
}

/// One request runs and two wait when it happens.
void EngineFaultsTest::a_lost_device_ends_all_requests_and_takes_no_more() {
  const Error lost{ErrorCode::unavailable, "CUDA device 0 was lost", "device"};
  auto script = std::make_shared<FakeScript>();
  script->failure = lost;
  std::binary_semaphore all_are_there{0};
  script->before_run = [&, n_steps = 0](const BatchPlan&) mutable {
    if (++n_steps != 3) return;
    all_are_there.acquire();
    script->n_failures_to_come = 1'000'000;
  };
  HarnessOptions options;
  options.engine.max_num_seqs = 1;
  Harness harness(options, script);
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t i = 0; i < 3; ++i) {
    handles.push_back(*harness.engine->submit(greedy_request(random_prompt(i, 10), 100)));
  }
  QVERIFY(!harness.engine->failure().has_value());
  all_are_there.release();
  for (const auto& handle : handles) {
    const Answer answer = collect(*handle);
    QCOMPARE(answer.all.finish_reason, FinishReason::error);
    QCOMPARE(answer.all.error->code, ErrorCode::unavailable);
    QCOMPARE(answer.all.error->message, lost.message);
  }
  const auto refused = harness.engine->submit(greedy_request(random_prompt(4, 10), 5));
  QVERIFY(!refused.has_value());
  QCOMPARE(refused.error().code, ErrorCode::unavailable);
  QCOMPARE(refused.error().message, lost.message);
  QCOMPARE(harness.engine->failure()->message, lost.message);
  QCOMPARE(harness.engine->snapshot()->n_blocks_used, 0);
  QCOMPARE(harness.engine->snapshot()->counters.n_finished_error, 3U);
  harness.engine->shut_down(std::chrono::seconds(60));
}

void EngineFaultsTest::an_exception_of_the_runner_ends_its_requests_and_the_engine_goes_on() {
  Harness harness;
  harness.script->n_throws_to_come = 1;
  const auto prompt = random_prompt(1, 10);
  const Answer failed = ask(*harness.engine, greedy_request(prompt, 5));
  QCOMPARE(failed.all.finish_reason, FinishReason::error);
  QVERIFY(failed.all.error->message.find("scripted exception") != std::string::npos);
  QCOMPARE(ask(*harness.engine, greedy_request(prompt, 5)).ids(), harness.expected(prompt, 5));
}

void EngineFaultsTest::a_failed_step_leaves_the_queue_alone() {
  HarnessOptions options;
  options.engine.max_num_seqs = 1;
  Harness harness(options);
  harness.script->n_failures_to_come = 1;
  auto first = *harness.engine->submit(greedy_request(random_prompt(1, 10), 5));
  auto second = *harness.engine->submit(greedy_request(random_prompt(2, 10), 5));
  QCOMPARE(collect(*first).all.finish_reason, FinishReason::error);
  QCOMPARE(collect(*second).ids(), harness.expected(random_prompt(2, 10), 5));
}

namespace {

/// An engine with one place that stands still in its first step until `go`.
struct Stalled {
  explicit Stalled(std::int64_t max_num_seqs = 1) {
    auto script = std::make_shared<FakeScript>();
    script->before_run = [this](const BatchPlan&) {
      if (std::exchange(is_first, false)) {
        arrived.release();
        go.acquire();
      }
    };
    HarnessOptions options;
    options.engine.max_num_seqs = max_num_seqs;
    options.engine.max_queue = 3;
    harness = std::make_unique<Harness>(options, script);
    handles.push_back(*harness->engine->submit(greedy_request(random_prompt(1, 5), 3)));
    arrived.acquire();
  }
  bool submit() {
    auto handle = harness->engine->submit(greedy_request(random_prompt(1, 5), 3));
    if (!handle) error = handle.error();
    if (handle) handles.push_back(*handle);
    return handle.has_value();
  }
  std::binary_semaphore arrived{0}, go{0};
  bool is_first = true;
  std::vector<RequestHandlePtr> handles;
  Error error;
  std::unique_ptr<Harness> harness;  // goes first: its thread uses what is above
};

}  // namespace

void EngineFaultsTest::S23_one_more_than_the_queue_holds_is_refused() {
  Stalled stalled;
  for (int i = 0; i < 3; ++i) QVERIFY(stalled.submit());
  QVERIFY(!stalled.submit());
  QCOMPARE(stalled.error.code, ErrorCode::resource_exhausted);
  QVERIFY2(stalled.error.message.find("max_queue is 3") != std::string::npos, stalled.error.message.c_str());
  stalled.go.release();
  for (const auto& handle : stalled.handles) QCOMPARE(collect(*handle).ids().size(), 3U);
}

void EngineFaultsTest::S23_a_queue_that_drained_takes_new_requests() {
  Stalled stalled;
  while (stalled.submit()) {
  }
  stalled.go.release();
  for (const auto& handle : stalled.handles) collect(*handle);
  for (int i = 0; i < 3; ++i) QVERIFY(stalled.submit());
  for (const auto& handle : stalled.handles) {
    if (handle->id() > 5) QCOMPARE(collect(*handle).ids().size(), 3U);
  }
}

void EngineFaultsTest::a_request_that_runs_at_once_needs_no_place_in_the_queue() {
  HarnessOptions options;
  options.engine.max_queue = 1;
  options.engine.max_num_seqs = 8;
  Harness harness(options);
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t i = 0; i < 8; ++i) {
    auto handle = harness.engine->submit(greedy_request(random_prompt(i, 5), 3));
    QVERIFY(handle.has_value());
    handles.push_back(*handle);
  }
  for (const auto& handle : handles) QCOMPARE(collect(*handle).ids().size(), 3U);
}

/// The next step will admit what has come, so it does not count as waiting.
void EngineFaultsTest::S23_as_many_as_may_run_and_wait_are_taken() {
  Stalled stalled(8);
  for (int i = 1; i < 8 + 3; ++i) QVERIFY2(stalled.submit(), stalled.error.message.c_str());
  QVERIFY(!stalled.submit());
  QVERIFY2(stalled.error.message.find("11 requests are running or waiting already: max_num_seqs is 8 and max_queue is 3") !=
               std::string::npos,
           stalled.error.message.c_str());
  stalled.go.release();
  for (const auto& handle : stalled.handles) QCOMPARE(collect(*handle).ids().size(), 3U);
}

void EngineFaultsTest::refused_requests_leave_no_trace() {
  Harness harness;
  for (int i = 0; i < 2000; ++i) QVERIFY(!harness.engine->submit(greedy_request({}, 3)).has_value());
  QCOMPARE(ask(*harness.engine, greedy_request(random_prompt(1, 5), 3)).ids().size(), 3U);
  std::uint64_t cursor = 0;
  for (const SchedulerEvent& event : harness.engine->events_since(cursor)) QCOMPARE(event.request_id, 1U);
}

void EngineFaultsTest::shutting_down_lets_running_requests_finish() {
  Harness harness;
  auto handle = *harness.engine->submit(greedy_request(random_prompt(1, 5), 100));
  harness.engine->shut_down(std::chrono::seconds(60));
  QCOMPARE(collect(*handle).ids(), harness.expected(random_prompt(1, 5), 100));
}

void EngineFaultsTest::shutting_down_cancels_when_patience_ends() {
  auto script = std::make_shared<FakeScript>();
  std::binary_semaphore arrived{0}, go{0};
  bool is_first = true;
  script->before_run = [&](const BatchPlan&) {
    if (std::exchange(is_first, false)) {
      arrived.release();
      go.acquire();
    }
  };
  Harness harness({}, script);
  auto handle = *harness.engine->submit(greedy_request(random_prompt(1, 5), 100));
  arrived.acquire();
  // With no patience at all the engine is told to abort while this step still runs.
  std::jthread closer([&] { harness.engine->shut_down(std::chrono::milliseconds(0)); });
  std::this_thread::yield();
  go.release();
  const Answer answer = collect(*handle);
  QVERIFY(!answer.timed_out);
  closer.join();
  QVERIFY(answer.all.finish_reason == FinishReason::cancelled || answer.all.finish_reason == FinishReason::length);
  QCOMPARE(harness.engine->snapshot()->n_blocks_used, 0);
}

void EngineFaultsTest::after_shutting_down_requests_are_refused() {
  Harness harness;
  harness.engine->shut_down(std::chrono::milliseconds(0));
  const auto refused = harness.engine->submit(greedy_request(random_prompt(1, 5), 3));
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, ErrorCode::unavailable);
}

void EngineFaultsTest::shutting_down_twice_is_harmless() {
  Harness harness;
  auto handle = *harness.engine->submit(greedy_request(random_prompt(1, 5), 50));
  std::jthread one([&] { harness.engine->shut_down(std::chrono::seconds(60)); });
  std::jthread two([&] { harness.engine->shut_down(std::chrono::seconds(60)); });
  QCOMPARE(collect(*handle).ids().size(), 50U);
}

void EngineFaultsTest::an_engine_can_go_with_requests_in_flight() {
  std::vector<RequestHandlePtr> handles;
  {
    Harness harness;
    for (std::uint64_t i = 0; i < 40; ++i)
      handles.push_back(*harness.engine->submit(greedy_request(random_prompt(i, 9), 150)));
  }
  for (const auto& handle : handles) {
    const Answer answer = collect(*handle);
    QVERIFY(answer.all.finish_reason == FinishReason::cancelled || answer.all.finish_reason == FinishReason::length);
  }
}

void EngineFaultsTest::a_reader_that_never_reads_does_not_stop_the_engine() {
  Harness harness;
  auto silent = *harness.engine->submit(greedy_request(random_prompt(1, 5), 150));
  for (std::uint64_t i = 0; i < 10; ++i)
    QCOMPARE(ask(*harness.engine, greedy_request(random_prompt(i, 5), 20)).ids().size(), 20U);
  QCOMPARE(collect(*silent).ids(), harness.expected(random_prompt(1, 5), 150));
}

void EngineFaultsTest::handles_outlive_the_engine() {
  RequestHandlePtr handle;
  {
    Harness harness;
    handle = *harness.engine->submit(greedy_request(random_prompt(1, 5), 5));
    harness.engine->shut_down(std::chrono::seconds(60));
  }
  QCOMPARE(collect(*handle).ids().size(), 5U);
  handle->cancel();
}

LATHE_TEST(EngineFaultsTest)

}  // namespace engine_faults_test
#include "engine_faults_test.moc"
