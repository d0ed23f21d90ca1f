// SPDX-License-Identifier: Apache-2.0
// Tests of the observable state of an engine: snapshots, counters, histograms, events and times; and of its random seeds.
#include <QObject>
#include <QtTest>

#include <algorithm>
#include <atomic>
#include <latch>

#include "tests/support/engine_harness.h"
#include "tests/support/test_class.h"

namespace engine_view_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

GenerateRequest random_request(std::uint64_t prompt, std::optional<std::uint64_t> seed) {
  GenerateRequest request = greedy_request(random_prompt(prompt, 10), 30);
  request.sampling.temperature = 1.0;
  request.sampling.seed = seed;
  return request;
}

/// A pool for two of the requests that have 14 tokens and write 30.
HarnessOptions few_blocks() {
  HarnessOptions options;
  options.engine.max_num_batched_tokens = 32;
  options.n_blocks = 24;
  return options;
}

}  // namespace

class EngineViewTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void an_idle_engine_has_an_exact_snapshot();
  void counters_count_tokens_and_requests();
  void histograms_have_one_entry_a_request_or_token();
  void books_agree_with_usage();
  void an_abandoned_prompt_is_in_no_book();
  void histograms_of_tokens_end_at_the_context();
  void histograms_have_the_bounds_of_vllm();
  void a_snapshot_shows_requests_and_their_blocks();
  void nobody_watches_and_no_block_is_copied();
  void an_idle_engine_shows_blocks_to_who_watches();
  void a_busy_engine_shows_blocks_after_one_step();
  void a_watch_outlives_its_engine();
  void every_request_tells_its_story();
  void event_numbers_rise_by_one();
  void times_are_in_order();
  void same_seed_same_tokens_whatever_the_batch();
  void drawn_seeds_differ_from_request_to_request();
  void the_engines_seed_makes_a_run_repeatable();
};

void EngineViewTest::an_idle_engine_has_an_exact_snapshot() {
  Harness harness;
  const BlockWatch watch = harness.engine->watch_blocks();
  QTRY_VERIFY(!harness.engine->snapshot()->blocks.empty());
  auto snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->n_blocks, 64);
  QCOMPARE(snapshot->n_blocks_free, 64);
  QCOMPARE(snapshot->block_size, 4);
  QCOMPARE(snapshot->blocks.size(), 64U);
  ask(*harness.engine, greedy_request(random_prompt(1, 10), 3));
  snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->n_blocks_used, 0);
  QCOMPARE(snapshot->n_blocks_cached, 3);  // 12 computed tokens
  QCOMPARE(snapshot->n_blocks_free, 61);
  QCOMPARE(std::count_if(snapshot->blocks.begin(), snapshot->blocks.end(), [](const auto& block) { return block.hashed; }),
           3);
}

void EngineViewTest::counters_count_tokens_and_requests() {
  Harness harness;
  ask(*harness.engine, greedy_request(random_prompt(1, 10), 3));
  ask(*harness.engine, greedy_request(random_prompt(1, 10), 3));
  const EngineCounters counters = harness.engine->snapshot()->counters;
  QCOMPARE(counters.n_steps, 6U);
  QCOMPARE(counters.n_prefill_tokens, 12U);
  QCOMPARE(counters.n_prompt_tokens, 20U);
  QCOMPARE(counters.n_generation_tokens, 6U);
  QCOMPARE(counters.n_prefix_queries, 20U);
  QCOMPARE(counters.n_prefix_hits, 8U);
  QCOMPARE(counters.n_finished_length, 2U);
  QCOMPARE(counters.n_finished_stop, 0U);
}

void EngineViewTest::histograms_have_one_entry_a_request_or_token() {
  Harness harness;
  for (std::uint64_t i = 0; i < 3; ++i) ask(*harness.engine, greedy_request(random_prompt(i, 10), 5));
  const auto snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->ttft_s.count, 3U);
  QCOMPARE(snapshot->itl_s.count, 12U);
  QCOMPARE(snapshot->e2e_s.count, 3U);
  QCOMPARE(snapshot->queue_s.count, 3U);
  QCOMPARE(snapshot->prefill_s.count, 3U);
  QCOMPARE(snapshot->decode_s.count, 3U);
  QVERIFY(snapshot->e2e_s.sum >= snapshot->ttft_s.sum);
}

/// Sums of the counters are sums of what the answers' usage says.
void EngineViewTest::books_agree_with_usage() {
  Harness harness(few_blocks());
  std::vector<RequestHandlePtr> handles;
  std::int64_t n_prompt = 0, n_cached = 0, n_completion = 0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    GenerateRequest request = greedy_request(random_prompt(i % 3, 14), 30);
    request.counts_prompt = i % 4 != 3;  // one of four is another answer to a prompt that counts already
    request.counts_output = i % 5 != 4;
    handles.push_back(*harness.engine->submit(request));
  }
  std::size_t i = 0;
  for (const auto& handle : handles) {
    const Usage usage = collect(*handle).all.usage;
    if (i % 4 != 3) n_prompt += usage.n_prompt_tokens;
    if (i % 4 != 3) n_cached += usage.n_cached_tokens;
    if (i % 5 != 4) n_completion += usage.n_completion_tokens;
    ++i;
  }
  const auto snapshot = harness.engine->snapshot();
  const EngineCounters& counters = snapshot->counters;
  QVERIFY(counters.n_preemptions > 0 && counters.n_recomputed_tokens > 0);
  QCOMPARE(static_cast<std::int64_t>(counters.n_prompt_tokens), n_prompt);
  QCOMPARE(static_cast<std::int64_t>(counters.n_prefix_hits), n_cached);
  QCOMPARE(static_cast<std::int64_t>(counters.n_generation_tokens), n_completion);
  QCOMPARE(snapshot->prompt_tokens.sum, static_cast<double>(n_prompt));
  QCOMPARE(snapshot->prompt_tokens.count, 9U);
  QCOMPARE(snapshot->generation_tokens.sum, static_cast<double>(n_completion));
  QCOMPARE(snapshot->generation_tokens.count, 12U);
}

/// A request that ends before its first token enters no counter of prompts, whatever was found or computed.
void EngineViewTest::an_abandoned_prompt_is_in_no_book() {
  HarnessOptions options;
  options.engine.max_num_batched_tokens = 16;
  auto script = std::make_shared<FakeScript>();
  RequestHandlePtr handle;
  std::latch has_handle(1);
  std::atomic<bool> cancels = false;
  script->before_run = [&](const auto&) {
    if (!cancels) return;
    has_handle.wait();
    handle->cancel();
  };
  Harness harness(options, script);
  ask(*harness.engine, greedy_request(random_prompt(1, 40), 3));
  const auto before = harness.engine->snapshot();
  auto prompt = random_prompt(1, 40);
  for (const std::int32_t id : random_prompt(2, 100)) prompt.push_back(id);
  cancels = true;
  handle = *harness.engine->submit(greedy_request(prompt, 3));
  has_handle.count_down();
  QVERIFY(collect(*handle).all.finish_reason == FinishReason::cancelled);
  const auto after = harness.engine->snapshot();
  QCOMPARE(after->counters.n_prompt_tokens, before->counters.n_prompt_tokens);
  QCOMPARE(after->counters.n_prefix_hits, before->counters.n_prefix_hits);
  QCOMPARE(after->counters.n_prefix_queries, before->counters.n_prefix_queries);
  QVERIFY(after->counters.n_prefill_tokens > before->counters.n_prefill_tokens);
  QCOMPARE(after->prompt_tokens.count, 1U);
  QCOMPARE(after->prompt_tokens.sum, static_cast<double>(after->counters.n_prompt_tokens));
  QCOMPARE(after->counters.n_finished_abort, 1U);
}

void EngineViewTest::histograms_of_tokens_end_at_the_context() {
  const Harness harness;
  const auto snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->prompt_tokens.bounds.front(), 1.0);
  QCOMPARE(snapshot->prompt_tokens.bounds.back(), 200.0);
  QCOMPARE(snapshot->generation_tokens.bounds.size(), 8U);
}

void EngineViewTest::histograms_have_the_bounds_of_vllm() {
  const Harness harness;
  const auto snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->ttft_s.bounds.size(), 22U);
  QCOMPARE(snapshot->ttft_s.bounds.front(), 0.001);
  QCOMPARE(snapshot->ttft_s.bounds.back(), 2560.0);
  QCOMPARE(snapshot->itl_s.bounds.size(), 19U);
  QCOMPARE(snapshot->itl_s.bounds.front(), 0.01);
  QCOMPARE(snapshot->e2e_s.bounds.size(), 21U);
  QCOMPARE(snapshot->e2e_s.bounds.back(), 7680.0);
  for (const auto* histogram : {&snapshot->ttft_s, &snapshot->itl_s, &snapshot->e2e_s}) {
    QVERIFY(std::is_sorted(histogram->bounds.begin(), histogram->bounds.end()));
    QCOMPARE(histogram->counts.size(), histogram->bounds.size() + 1);
  }
}

void EngineViewTest::a_snapshot_shows_requests_and_their_blocks() {
  auto script = std::make_shared<FakeScript>();
  HarnessOptions options;
  options.engine.max_num_seqs = 1;
  std::vector<std::shared_ptr<const EngineSnapshot>> seen;
  std::atomic<Engine*> engine{nullptr};
  script->before_run = [&](const BatchPlan&) {
    if (Engine* const there = engine) seen.push_back(there->snapshot());
  };
  Harness harness(options, script);
  const BlockWatch watch = harness.engine->watch_blocks();
  QTRY_VERIFY(!harness.engine->snapshot()->blocks.empty());
  auto first = *harness.engine->submit(greedy_request(random_prompt(1, 10), 150));
  auto second = *harness.engine->submit(greedy_request(random_prompt(2, 10), 40));
  engine = harness.engine.get();
  collect(*first);
  collect(*second);
  harness.engine->shut_down(std::chrono::seconds(60));
  for (const auto& snapshot : seen) {
    QCOMPARE(snapshot->n_blocks_used + snapshot->n_blocks_cached + snapshot->n_blocks_free, snapshot->n_blocks);
    QCOMPARE(static_cast<int>(snapshot->requests.size()), snapshot->n_running + snapshot->n_waiting);
    for (const ActiveRequest& request : snapshot->requests) {
      const auto n_owned = std::count_if(snapshot->blocks.begin(), snapshot->blocks.end(),
                                         [&](const KvBlockState& block) { return block.owner == request.id; });
      QCOMPARE(static_cast<std::int64_t>(n_owned), request.n_blocks);
      QCOMPARE(request.source, std::string("test"));
    }
  }
  QVERIFY(!seen.empty());
}

/// Neither while the engine works nor when it is idle.
void EngineViewTest::nobody_watches_and_no_block_is_copied() {
  auto script = std::make_shared<FakeScript>();
  std::atomic<Engine*> engine{nullptr};
  std::atomic<int> n_seen{0}, n_with_blocks{0};
  script->before_run = [&](const BatchPlan&) {
    if (Engine* const there = engine) {
      ++n_seen;
      if (there->snapshot()->blocks.capacity() > 0) ++n_with_blocks;
    }
  };
  Harness harness({}, script);
  engine = harness.engine.get();
  ask(*harness.engine, greedy_request(random_prompt(1, 10), 40));
  QVERIFY(n_seen > 0);
  QCOMPARE(n_with_blocks.load(), 0);
  const auto snapshot = harness.engine->snapshot();
  QCOMPARE(snapshot->blocks.capacity(), std::size_t{0});
  QCOMPARE(snapshot->n_blocks_used + snapshot->n_blocks_cached + snapshot->n_blocks_free, 64);
}

void EngineViewTest::an_idle_engine_shows_blocks_to_who_watches() {
  Harness harness;
  QVERIFY(harness.engine->snapshot()->blocks.empty());
  BlockWatch one = harness.engine->watch_blocks();
  QTRY_COMPARE(harness.engine->snapshot()->blocks.size(), 64U);
  BlockWatch other = harness.engine->watch_blocks();
  one.reset();  // the other watch stays
  ask(*harness.engine, greedy_request(random_prompt(1, 10), 3));
  QCOMPARE(harness.engine->snapshot()->blocks.size(), 64U);
  other.reset();
  ask(*harness.engine, greedy_request(random_prompt(2, 10), 3));
  QVERIFY(harness.engine->snapshot()->blocks.empty());
  QCOMPARE(harness.engine->snapshot()->counters.n_steps, 6U);  // watching took no step
}

/// The clock does not move, so no snapshot is made for its age.
void EngineViewTest::a_busy_engine_shows_blocks_after_one_step() {
  auto script = std::make_shared<FakeScript>();
  std::atomic<Engine*> engine{nullptr};
  BlockWatch watch;
  std::vector<std::size_t> n_blocks;  // in the newest snapshot, at the begin of each step since the watch
  script->before_run = [&](const BatchPlan& plan) {
    Engine* const there = engine;
    if (there == nullptr || plan.n_rows() != 1) return;  // no prompt
    if (watch) n_blocks.push_back(there->snapshot()->blocks.size());
    else watch = there->watch_blocks();
  };
  HarnessOptions options;
  options.time_ns = std::make_shared<std::atomic<std::int64_t>>(1);
  Harness harness(options, script);
  engine = harness.engine.get();
  ask(*harness.engine, greedy_request(random_prompt(1, 10), 10));
  harness.engine->shut_down(std::chrono::seconds(60));
  QVERIFY(n_blocks.size() > 3);
  for (const std::size_t n : n_blocks) QCOMPARE(n, 64U);
}

void EngineViewTest::a_watch_outlives_its_engine() {
  BlockWatch watch;
  {
    Harness harness;
    watch = harness.engine->watch_blocks();
    harness.engine->shut_down(std::chrono::seconds(60));
    QVERIFY(harness.engine->watch_blocks() != nullptr);  // an ended engine shows nothing, and has nothing to wake
  }
  watch.reset();
}

void EngineViewTest::every_request_tells_its_story() {
  Harness harness;
  ask(*harness.engine, greedy_request(random_prompt(1, 10), 3));
  std::uint64_t cursor = 0;
  std::vector<SchedulerEventKind> story;
  for (const SchedulerEvent& event : harness.engine->events_since(cursor)) story.push_back(event.kind);
  QCOMPARE(story, (std::vector<SchedulerEventKind>{SchedulerEventKind::queued, SchedulerEventKind::admitted,
                                                   SchedulerEventKind::prefilled, SchedulerEventKind::finished}));
}

void EngineViewTest::event_numbers_rise_by_one() {
  Harness harness;
  for (std::uint64_t i = 0; i < 5; ++i) ask(*harness.engine, greedy_request(random_prompt(i, 10), 3));
  std::uint64_t cursor = 0;
  const auto events = harness.engine->events_since(cursor);
  QCOMPARE(events.size(), 20U);
  for (std::size_t i = 0; i < events.size(); ++i) {
    QCOMPARE(events[i].sequence, i);
    if (i > 0) QVERIFY(events[i].time_ns >= events[i - 1].time_ns);
  }
  QCOMPARE(cursor, harness.engine->snapshot()->next_event);
}

void EngineViewTest::times_are_in_order() {
  Harness harness;
  const RequestTimings times = ask(*harness.engine, greedy_request(random_prompt(1, 10), 20)).all.timings;
  QVERIFY(times.queue_ms >= 0);
  QVERIFY(times.ttft_ms >= times.queue_ms);
  QVERIFY(times.end_ms >= times.ttft_ms);
  QVERIFY(times.itl_p99_ms >= times.itl_p50_ms);
  QVERIFY(times.itl_p50_ms > 0);
  QCOMPARE(times.n_preemptions, 0);
}

void EngineViewTest::same_seed_same_tokens_whatever_the_batch() {
  Harness alone;
  const Answer expected = ask(*alone.engine, random_request(1, 42));
  HarnessOptions crowded;
  crowded.engine.max_num_batched_tokens = 16;
  crowded.n_blocks = 24;
  // No step before all twelve are there: one by one they might be answered as fast as they come, and never be a batch.
  std::latch submitted(1);
  const auto script = std::make_shared<FakeScript>();
  script->before_run = [&submitted](const BatchPlan&) { submitted.wait(); };
  Harness harness(crowded, script);
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t i = 0; i < 12; ++i) handles.push_back(*harness.engine->submit(random_request(i, i == 1 ? 42 : i)));
  submitted.count_down();
  std::int64_t n_preemptions = 0;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const Answer answer = collect(*handles[i]);
    n_preemptions += answer.all.timings.n_preemptions;
    if (i == 1) QCOMPARE(answer.ids(), expected.ids());
  }
  QVERIFY(n_preemptions > 0);
}

void EngineViewTest::drawn_seeds_differ_from_request_to_request() {
  Harness harness;
  const Answer one = ask(*harness.engine, random_request(1, std::nullopt));
  const Answer two = ask(*harness.engine, random_request(1, std::nullopt));
  QVERIFY(one.ids() != two.ids());
}

void EngineViewTest::the_engines_seed_makes_a_run_repeatable() {
  const auto first_answer = [](std::int64_t seed) {
    HarnessOptions options;
    options.engine.seed = seed;
    Harness harness(options);
    return ask(*harness.engine, random_request(1, std::nullopt)).ids();
  };
  QCOMPARE(first_answer(5), first_answer(5));
  QVERIFY(first_answer(5) != first_answer(6));
}

LATHE_TEST(EngineViewTest)

}  // namespace engine_view_test
#include "engine_view_test.moc"
