// SPDX-License-Identifier: Apache-2.0
// Requests that go away, at every phase: the work stops at the next plan and every block comes back.
#include <QObject>
#include <QtTest>

#include <atomic>
#include <random>
#include <semaphore>

#include "tests/support/engine_harness.h"
#include "tests/support/test_class.h"

namespace engine_cancel_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

/// A runner that stops before every step until it is let on.
struct Gate {
  std::counting_semaphore<1 << 20> arrived{0}, open{0};
  std::atomic<bool> closed{true};

  std::shared_ptr<FakeScript> script() {
    auto script = std::make_shared<FakeScript>();
    script->before_run = [this](const BatchPlan&) {
      if (!closed) return;
      arrived.release();
      open.acquire();
    };
    return script;
  }
  void one_step() {
    arrived.acquire();
    open.release();
  }
  void open_for_good() {
    closed = false;
    open.release();
  }
};

void verify_at_rest(const Harness& harness) {
  const BlockWatch watch = harness.engine->watch_blocks();
  QTRY_VERIFY(!harness.engine->snapshot()->blocks.empty());
  const auto snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->n_blocks_used, 0);
  QCOMPARE(snapshot->n_blocks_cached + snapshot->n_blocks_free, snapshot->n_blocks);
  QCOMPARE(snapshot->n_running, 0);
  QCOMPARE(snapshot->n_waiting, 0);
  QCOMPARE(snapshot->kv_usage(), 0.0);
  for (const KvBlockState& block : snapshot->blocks) QCOMPARE(block.n_references, 0);
  QCOMPARE(harness.script->faults(), std::string());
}

HarnessOptions small(std::int64_t max_num_seqs, std::int64_t n_rows, int n_blocks) {
  HarnessOptions options;
  options.engine.max_num_seqs = max_num_seqs;
  options.engine.max_num_batched_tokens = n_rows;
  options.n_blocks = n_blocks;
  return options;
}

}  // namespace

class EngineCancelTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void S12_cancelled_while_queued();
  void S12_cancelled_in_the_middle_of_its_prompt();
  void S12_cancelled_in_the_middle_of_its_answer();
  void S12_cancelled_after_its_last_token();
  void S12_cancelled_before_it_was_seen();
  void S12_a_cancelled_request_costs_at_most_the_running_step();
  void S12_company_does_not_notice();
  void E2_cancel_storm_at_random_phases();
  void E2_cancel_and_preempt_storm_with_prefix_sharing();
  void E1_a_pool_exactly_full_goes_on();
  void E1_one_token_more_than_the_pool_preempts();
  void E1_sixty_four_wait_for_a_pool_of_one_and_a_bit();
};

void EngineCancelTest::S12_cancelled_while_queued() {
  Gate gate;
  Harness harness(small(1, 32, 64), gate.script());
  auto running = *harness.engine->submit(greedy_request(random_prompt(1, 4), 4));
  gate.arrived.acquire();
  auto queued = *harness.engine->submit(greedy_request(random_prompt(2, 4), 4));
  queued->cancel();
  gate.open_for_good();
  const Answer answer = collect(*queued);
  QCOMPARE(answer.all.finish_reason, FinishReason::cancelled);
  QVERIFY(answer.ids().empty());
  QCOMPARE(collect(*running).ids(), harness.expected(random_prompt(1, 4), 4));
  verify_at_rest(harness);
}

void EngineCancelTest::S12_cancelled_in_the_middle_of_its_prompt() {
  Gate gate;
  Harness harness(small(16, 16, 64), gate.script());
  auto handle = *harness.engine->submit(greedy_request(random_prompt(1, 100), 4));
  gate.one_step();
  gate.arrived.acquire();
  handle->cancel();
  gate.open_for_good();
  const Answer answer = collect(*handle);
  QCOMPARE(answer.all.finish_reason, FinishReason::cancelled);
  QCOMPARE(harness.script->n_runs.load(), 2);
  verify_at_rest(harness);
}

void EngineCancelTest::S12_cancelled_in_the_middle_of_its_answer() {
  Gate gate;
  Harness harness(small(16, 16, 64), gate.script());
  auto handle = *harness.engine->submit(greedy_request(random_prompt(1, 10), 100));
  for (int i = 0; i < 5; ++i) gate.one_step();
  gate.arrived.acquire();
  handle->cancel();
  gate.open_for_good();
  const Answer answer = collect(*handle);
  QCOMPARE(answer.all.finish_reason, FinishReason::cancelled);
  QCOMPARE(answer.ids(), harness.expected(random_prompt(1, 10), 6));
  QCOMPARE(harness.engine->snapshot()->counters.n_finished_abort, 1U);
  verify_at_rest(harness);
}

void EngineCancelTest::S12_cancelled_after_its_last_token() {
  Harness harness;
  auto handle = *harness.engine->submit(greedy_request(random_prompt(1, 10), 3));
  const Answer answer = collect(*handle);
  handle->cancel();
  QCOMPARE(answer.all.finish_reason, FinishReason::length);
  QCOMPARE(ask(*harness.engine, greedy_request(random_prompt(2, 5), 3)).ids().size(), 3U);
  TokenEvent event;
  QVERIFY(!handle->poll(event));
  verify_at_rest(harness);
}

void EngineCancelTest::S12_cancelled_before_it_was_seen() {
  Gate gate;
  Harness harness(small(16, 16, 64), gate.script());
  auto first = *harness.engine->submit(greedy_request(random_prompt(1, 10), 2));
  gate.arrived.acquire();
  auto second = *harness.engine->submit(greedy_request(random_prompt(2, 10), 2));
  second->cancel();
  gate.open_for_good();
  QCOMPARE(collect(*second).all.finish_reason, FinishReason::cancelled);
  QCOMPARE(collect(*first).ids().size(), 2U);
  verify_at_rest(harness);
}

void EngineCancelTest::S12_a_cancelled_request_costs_at_most_the_running_step() {
  Gate gate;
  Harness harness(small(16, 16, 64), gate.script());
  auto handle = *harness.engine->submit(greedy_request(random_prompt(1, 10), 150));
  gate.one_step();
  gate.arrived.acquire();
  const int n_runs = harness.script->n_runs;  // this step is not yet counted
  handle->cancel();
  gate.open_for_good();
  collect(*handle);
  QCOMPARE(harness.script->n_runs.load(), n_runs + 1);
}

void EngineCancelTest::S12_company_does_not_notice() {
  Harness harness(small(8, 32, 64));
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t i = 0; i < 24; ++i)
    handles.push_back(*harness.engine->submit(greedy_request(random_prompt(i, 12), 30)));
  for (std::size_t i = 0; i < handles.size(); i += 4) handles[i]->cancel();
  for (std::uint64_t i = 0; i < 24; ++i) {
    const Answer answer = collect(*handles[i]);
    if (i % 4 != 0) QCOMPARE(answer.ids(), harness.expected(random_prompt(i, 12), 30));
  }
  verify_at_rest(harness);
}

void EngineCancelTest::E2_cancel_storm_at_random_phases() {
  Harness harness(small(16, 32, 128));
  std::mt19937 random(7);
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    auto submitted = harness.engine->submit(greedy_request(random_prompt(i, 1 + static_cast<int>(random() % 40)), 40));
    QVERIFY(submitted.has_value() || submitted.error().code == ErrorCode::resource_exhausted);
    if (!submitted) {
      collect(*handles.front());  // lets the queue drain
      handles.erase(handles.begin());
      continue;
    }
    handles.push_back(*submitted);
    // Some at once, some when the engine has got to them at a place that chance decides.
    if (random() % 8 != 0) handles[handles.size() - 1 - random() % std::min<std::size_t>(handles.size(), 24)]->cancel();
  }
  for (const auto& handle : handles) handle->cancel();
  for (const auto& handle : handles) QVERIFY(!collect(*handle).timed_out);
  const auto counters = harness.engine->snapshot()->counters;
  QVERIFY2(counters.n_finished_abort >= 1000, qPrintable(QString::number(counters.n_finished_abort)));
  verify_at_rest(harness);
}

void EngineCancelTest::E2_cancel_and_preempt_storm_with_prefix_sharing() {
  Harness harness(small(12, 32, 40));
  std::mt19937 random(8);
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t i = 0; i < 200; ++i) {
    // Eight prefixes, each shared by many.
    auto prompt = random_prompt(random() % 8, 24);
    for (const std::int32_t id : random_prompt(i, static_cast<int>(random() % 8))) prompt.push_back(id);
    handles.push_back(*harness.engine->submit(greedy_request(prompt, 50)));
    if (random() % 2 == 0) handles[random() % handles.size()]->cancel();
  }
  for (const auto& handle : handles) QVERIFY(!collect(*handle).timed_out);
  const auto counters = harness.engine->snapshot()->counters;
  QVERIFY(counters.n_preemptions > 0);
  QVERIFY(counters.n_prefix_hits > 0);
  verify_at_rest(harness);
}

void EngineCancelTest::E1_a_pool_exactly_full_goes_on() {
  Harness harness(small(2, 32, 10));                                               // 40 tokens: 20 for each
  auto first = *harness.engine->submit(greedy_request(random_prompt(1, 10), 11));  // the last token is not stored
  auto second = *harness.engine->submit(greedy_request(random_prompt(2, 10), 11));
  QCOMPARE(collect(*first).ids(), harness.expected(random_prompt(1, 10), 11));
  QCOMPARE(collect(*second).ids(), harness.expected(random_prompt(2, 10), 11));
  QCOMPARE(harness.engine->snapshot()->counters.n_preemptions, 0U);
  verify_at_rest(harness);
}

void EngineCancelTest::E1_one_token_more_than_the_pool_preempts() {
  Gate gate;  // both are there before the first step ends
  Harness harness(small(2, 32, 10), gate.script());
  auto first = *harness.engine->submit(greedy_request(random_prompt(1, 10), 12));
  gate.arrived.acquire();
  auto second = *harness.engine->submit(greedy_request(random_prompt(2, 10), 12));
  gate.open_for_good();
  QCOMPARE(collect(*first).ids(), harness.expected(random_prompt(1, 10), 12));
  QCOMPARE(collect(*second).ids(), harness.expected(random_prompt(2, 10), 12));
  QCOMPARE(harness.engine->snapshot()->counters.n_preemptions, 1U);
  verify_at_rest(harness);
}

void EngineCancelTest::E1_sixty_four_wait_for_a_pool_of_one_and_a_bit() {
  Harness harness(small(16, 32, 11));  // 44 tokens for requests of 40
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t i = 0; i < 64; ++i)
    handles.push_back(*harness.engine->submit(greedy_request(random_prompt(i, 20), 20)));
  for (std::uint64_t i = 0; i < 64; ++i) {
    const Answer answer = collect(*handles[i]);
    QVERIFY(!answer.timed_out);
    QCOMPARE(answer.ids(), harness.expected(random_prompt(i, 20), 20));
  }
  verify_at_rest(harness);
}

LATHE_TEST(EngineCancelTest)

}  // namespace engine_cancel_test
#include "engine_cancel_test.moc"
