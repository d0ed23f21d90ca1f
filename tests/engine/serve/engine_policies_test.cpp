// SPDX-License-Identifier: Apache-2.0
// The loop under each policy: the same answers, every block back, and nobody waits for what never comes.
#include <QObject>
#include <QtTest>

#include <algorithm>
#include <latch>
#include <numeric>
#include <thread>

#include "engine/schedule/policies.h"
#include "tests/support/engine_harness.h"
#include "tests/support/test_class.h"

namespace engine_policies_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

constexpr std::int64_t kMs = 1'000'000;

/// A context of 60 tokens and room for six of them.
HarnessOptions options_of(const QString& policy) {
  HarnessOptions options;
  options.engine.policy = policy.toStdString();
  options.engine.max_num_seqs = 4;
  options.engine.max_num_batched_tokens = 32;
  options.engine.max_batch_delay_ms = 1;
  options.max_model_len = 60;
  options.n_blocks = 6 * 15;
  return options;
}

/// Batches of exactly two, whatever the machine is doing.
HarnessOptions in_pairs() {
  HarnessOptions options = options_of("dynamic");
  options.engine.preferred_batch_size = 2;
  options.engine.max_batch_delay_ms = 600'000;
  return options;
}

void add_policies() {
  QTest::addColumn<QString>("policy");
  for (const PolicyDescriptor* policy : policy_table()) {
    const QString name = QString::fromUtf8(policy->name.data(), static_cast<qsizetype>(policy->name.size()));
    QTest::newRow(qPrintable(name)) << name;
  }
}

void verify_at_rest(const Harness& harness) {
  const auto snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->n_blocks_used, 0);
  QCOMPARE(snapshot->n_running, 0);
  QCOMPARE(snapshot->n_waiting, 0);
  QCOMPARE(snapshot->n_kv_reserved, 0);
  QCOMPARE(snapshot->n_kv_unfilled, 0);
  QCOMPARE(harness.script->faults(), std::string());
}

std::vector<SchedulerEvent> events_of(const Engine& engine, std::uint64_t id) {
  std::uint64_t cursor = 0;
  std::vector<SchedulerEvent> events = engine.events_since(cursor);
  std::erase_if(events, [id](const SchedulerEvent& event) { return event.request_id != id; });
  return events;
}

bool has(const std::vector<SchedulerEvent>& events, SchedulerEventKind kind) {
  return std::any_of(events.begin(), events.end(), [kind](const SchedulerEvent& event) { return event.kind == kind; });
}

/// Returns when the engine has noted that event of the request.
void wait_for(const Engine& engine, std::uint64_t id, SchedulerEventKind kind) {
  while (!has(events_of(engine, id), kind)) std::this_thread::yield();
}

}  // namespace

class EnginePoliciesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void answers_are_those_of_a_request_alone_data() { add_policies(); }
  void answers_are_those_of_a_request_alone();
  void sampled_answers_and_their_logprobs_are_equal();
  void answers_end_by_stop_strings_and_end_tokens_data() { add_policies(); }
  void answers_end_by_stop_strings_and_end_tokens();
  void a_prompt_with_logprobs_is_read_in_full_data() { add_policies(); }
  void a_prompt_with_logprobs_is_read_in_full();
  void a_request_beyond_the_reservation_is_refused_data() { add_policies(); }
  void a_request_beyond_the_reservation_is_refused();
  void an_answer_ends_where_the_reservation_does_data() { add_policies(); }
  void an_answer_ends_where_the_reservation_does();
  void a_member_that_is_cancelled_answers_at_once();
  void padding_is_computed_and_counted();
  void a_failed_step_ends_its_batch_and_nothing_else_data() { add_policies(); }
  void a_failed_step_ends_its_batch_and_nothing_else();
  void a_batch_starts_by_the_engines_clock_alone();
  void who_waits_for_a_batch_can_be_cancelled();
  void who_waits_for_a_batch_does_not_hold_up_the_end();
};

void EnginePoliciesTest::answers_are_those_of_a_request_alone() {
  QFETCH(QString, policy);
  Harness harness(options_of(policy));
  std::vector<RequestHandlePtr> handles;
  const auto prompt_of = [](std::uint64_t i) { return random_prompt(i, 1 + static_cast<int>(i) * 13 % 40); };
  const auto length_of = [](std::uint64_t i) { return 1 + static_cast<int>(i) * 7 % 17; };
  for (std::uint64_t i = 0; i < 20; ++i) {
    handles.push_back(*harness.engine->submit(greedy_request(prompt_of(i), length_of(i))));
    if (i % 5 == 4) {  // arrivals at different times: some come while others run
      const Answer answer = collect(*handles[i - 2]);
      QVERIFY(!answer.timed_out);
      QCOMPARE(answer.ids(), harness.expected(prompt_of(i - 2), length_of(i - 2)));
      handles[i - 2] = nullptr;
    }
  }
  for (std::uint64_t i = 0; i < 20; ++i) {
    if (handles[i] == nullptr) continue;
    const Answer answer = collect(*handles[i]);
    QVERIFY(!answer.timed_out);
    QCOMPARE(answer.ids(), harness.expected(prompt_of(i), length_of(i)));
  }
  verify_at_rest(harness);
}

void EnginePoliciesTest::sampled_answers_and_their_logprobs_are_equal() {
  const auto run = [](const QString& policy) {
    Harness harness(options_of(policy));
    std::vector<RequestHandlePtr> handles;
    for (std::uint64_t i = 0; i < 8; ++i) {
      GenerateRequest request = greedy_request(random_prompt(i, 3 + static_cast<int>(i) * 5), 12);
      request.sampling.temperature = 0.9;
      request.sampling.seed = 40 + i;
      request.sampling.logprobs = 2;
      handles.push_back(*harness.engine->submit(std::move(request)));
    }
    std::vector<std::pair<std::int32_t, float>> tokens;
    for (const auto& handle : handles) {
      const Answer answer = collect(*handle);
      for (const TokenLogprob& one : answer.all.chosen_logprobs) tokens.emplace_back(one.id, one.logprob);
      for (const LogprobList& list : answer.all.logprobs) {
        for (const TokenLogprob& one : list) tokens.emplace_back(one.id, one.logprob);
      }
    }
    return tokens;
  };
  const auto expected = run("paged");
  QCOMPARE(expected.size(), std::size_t{8 * 12 * 3});
  for (const char* policy : {"static", "dynamic", "continuous"}) QVERIFY2(run(policy) == expected, policy);
}

void EnginePoliciesTest::answers_end_by_stop_strings_and_end_tokens() {
  QFETCH(QString, policy);
  auto script = std::make_shared<FakeScript>();
  script->eos_period = 9;
  Harness harness(options_of(policy), script);
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t i = 0; i < 12; ++i) {
    GenerateRequest request = greedy_request(random_prompt(i, 5 + static_cast<int>(i)), 30);
    if (i % 3 == 0) request.sampling.stop = {"a", "b", "c", "d", "e", "f"};
    handles.push_back(*harness.engine->submit(std::move(request)));
  }
  int n_stopped = 0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const Answer answer = collect(*handles[i]);
    QVERIFY(!answer.timed_out);
    const auto expected = harness.expected(random_prompt(i, 5 + static_cast<int>(i)), 30);
    QVERIFY(answer.ids().size() <= expected.size());
    QVERIFY(std::equal(answer.ids().begin(), answer.ids().end(), expected.begin()));
    if (answer.all.finish_reason == FinishReason::stop) ++n_stopped;
  }
  QVERIFY(n_stopped > 3);
  verify_at_rest(harness);
}

void EnginePoliciesTest::a_prompt_with_logprobs_is_read_in_full() {
  QFETCH(QString, policy);
  HarnessOptions options = options_of(policy);
  options.max_logit_rows = 6;  // fewer than a prompt has rows
  Harness harness(options), paged(options_of("paged"));
  GenerateRequest request = greedy_request(random_prompt(1, 20), 5);
  request.sampling.prompt_logprobs = 1;
  const auto other = *harness.engine->submit(greedy_request(random_prompt(2, 30), 9));
  const auto handle = *harness.engine->submit(request);
  const Answer answer = collect(*handle), expected = ask(*paged.engine, request);
  QCOMPARE(answer.all.prompt_logprobs.size(), 20U);
  for (std::size_t i = 1; i < 20; ++i) {
    QCOMPARE(answer.all.prompt_logprobs[i].front().id, expected.all.prompt_logprobs[i].front().id);
    QCOMPARE(answer.all.prompt_logprobs[i].front().logprob, expected.all.prompt_logprobs[i].front().logprob);
  }
  QCOMPARE(collect(*other).ids(), harness.expected(random_prompt(2, 30), 9));
  verify_at_rest(harness);
}

void EnginePoliciesTest::a_request_beyond_the_reservation_is_refused() {
  QFETCH(QString, policy);
  HarnessOptions options = options_of(policy);
  options.n_blocks = 10;  // 40 tokens are less than the context, so they are what is reserved
  Harness harness(options);
  const auto refused = harness.engine->submit(greedy_request(random_prompt(1, 40), 1));
  QVERIFY(!refused.has_value());
  QVERIFY(refused.error().code == ErrorCode::invalid_argument);
  QVERIFY(refused.error().message.find("40 tokens and needs 11 KV blocks, but the whole pool has 10 blocks of 4 tokens") !=
          std::string::npos);
  QCOMPARE(ask(*harness.engine, greedy_request(random_prompt(1, 39), 1)).ids(), harness.expected(random_prompt(1, 39), 1));
  verify_at_rest(harness);
}

void EnginePoliciesTest::an_answer_ends_where_the_reservation_does() {
  QFETCH(QString, policy);
  Harness harness(options_of(policy));
  const Answer answer = ask(*harness.engine, greedy_request(random_prompt(1, 50), 1000));
  QCOMPARE(answer.all.finish_reason, FinishReason::length);
  QCOMPARE(answer.ids(), harness.expected(random_prompt(1, 50), 10));
  verify_at_rest(harness);
}

void EnginePoliciesTest::a_member_that_is_cancelled_answers_at_once() {
  auto script = std::make_shared<FakeScript>();
  std::latch known{1};
  RequestHandlePtr victim;
  script->before_run = [&](const BatchPlan&) {
    known.wait();
    if (script->n_runs == 3) victim->cancel();
  };
  Harness harness(in_pairs(), script);
  const auto keeper = *harness.engine->submit(greedy_request(random_prompt(1, 9), 20));
  victim = *harness.engine->submit(greedy_request(random_prompt(2, 12), 20));
  known.count_down();
  const Answer cancelled = collect(*victim), answer = collect(*keeper);
  QCOMPARE(cancelled.all.finish_reason, FinishReason::cancelled);
  QCOMPARE(cancelled.ids().size(), 4U);
  QCOMPARE(answer.ids(), harness.expected(random_prompt(1, 9), 20));
  // Three rows behind the shorter prompt, and one for each step that the other took alone.
  QCOMPARE(harness.engine->snapshot()->counters.n_padding_tokens, 3U + 16U);
  verify_at_rest(harness);
}

void EnginePoliciesTest::padding_is_computed_and_counted() {
  Harness harness(in_pairs());
  const auto one = *harness.engine->submit(greedy_request(random_prompt(1, 4), 3));
  const auto other = *harness.engine->submit(greedy_request(random_prompt(2, 10), 8));
  QCOMPARE(collect(*one).ids(), harness.expected(random_prompt(1, 4), 3));
  QCOMPARE(collect(*other).ids(), harness.expected(random_prompt(2, 10), 8));
  QCOMPARE(harness.engine->snapshot()->counters.n_padding_tokens, 6U + 5U);
  QCOMPARE(harness.script->n_runs.load(), 8);
  QCOMPARE(harness.script->n_rows.load(), 2 * 10 + 7 * 2);  // as a tensor [2, length] has them
  QVERIFY(has(events_of(*harness.engine, one->id()), SchedulerEventKind::batched));
  verify_at_rest(harness);
}

void EnginePoliciesTest::a_failed_step_ends_its_batch_and_nothing_else() {
  QFETCH(QString, policy);
  auto script = std::make_shared<FakeScript>();
  Harness harness(options_of(policy), script);
  script->n_failures_to_come = 1;
  QCOMPARE(ask(*harness.engine, greedy_request(random_prompt(1, 9), 5)).all.finish_reason, FinishReason::error);
  QCOMPARE(ask(*harness.engine, greedy_request(random_prompt(1, 9), 5)).ids(), harness.expected(random_prompt(1, 9), 5));
  verify_at_rest(harness);
}

void EnginePoliciesTest::a_batch_starts_by_the_engines_clock_alone() {
  HarnessOptions options = options_of("dynamic");
  options.engine.max_batch_delay_ms = 50;
  options.time_ns = std::make_shared<std::atomic<std::int64_t>>(1000 * kMs);
  Harness harness(options);
  const auto handle = *harness.engine->submit(greedy_request(random_prompt(1, 9), 5));
  wait_for(*harness.engine, handle->id(), SchedulerEventKind::waiting_fill);
  *options.time_ns += 49 * kMs;
  QCOMPARE(harness.script->n_runs.load(), 0);
  *options.time_ns += kMs;
  QCOMPARE(collect(*handle).ids(), harness.expected(random_prompt(1, 9), 5));
  const auto events = events_of(*harness.engine, handle->id());
  const auto batched = std::find_if(events.begin(), events.end(),
                                    [](const SchedulerEvent& event) { return event.kind == SchedulerEventKind::batched; });
  QVERIFY(batched != events.end());
  QCOMPARE(batched->n[2], static_cast<std::int64_t>(BatchCause::delay));
  QCOMPARE(batched->n[3], 50);
}

void EnginePoliciesTest::who_waits_for_a_batch_can_be_cancelled() {
  Harness harness(in_pairs());
  const auto handle = *harness.engine->submit(greedy_request(random_prompt(1, 9), 5));
  wait_for(*harness.engine, handle->id(), SchedulerEventKind::waiting_fill);
  handle->cancel();
  QCOMPARE(collect(*handle).all.finish_reason, FinishReason::cancelled);
  QCOMPARE(harness.script->n_runs.load(), 0);
  verify_at_rest(harness);
}

void EnginePoliciesTest::who_waits_for_a_batch_does_not_hold_up_the_end() {
  Harness harness(in_pairs());
  const auto handle = *harness.engine->submit(greedy_request(random_prompt(1, 9), 5));
  wait_for(*harness.engine, handle->id(), SchedulerEventKind::waiting_fill);
  harness.engine->shut_down(std::chrono::milliseconds(0));
  QCOMPARE(collect(*handle).all.finish_reason, FinishReason::cancelled);
}

LATHE_TEST(EnginePoliciesTest)

}  // namespace engine_policies_test
#include "engine_policies_test.moc"
