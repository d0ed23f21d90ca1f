// SPDX-License-Identifier: Apache-2.0
// The loop gives every request the answer that it has alone, and says how it ended.
#include <QObject>
#include <QtTest>

#include <numeric>

#include "tests/support/engine_harness.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/test_class.h"

namespace engine_loop_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

HarnessOptions with_seqs(std::int64_t max_num_seqs, std::int64_t max_num_batched_tokens) {
  HarnessOptions options;
  options.engine.max_num_seqs = max_num_seqs;
  options.engine.max_num_batched_tokens = max_num_batched_tokens;
  return options;
}

}  // namespace

class EngineLoopTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void one_request_gets_its_answer();
  void a_prompt_longer_than_a_step_is_read_in_chunks();
  void company_changes_nothing_data();
  void company_changes_nothing();
  void preemption_changes_nothing();
  void best_tokens_instead_of_logits_change_nothing();
  void a_warm_prefix_changes_nothing_but_the_usage();
  void another_salt_shares_no_prefix();
  void without_caching_nothing_is_found();
  void the_last_prompt_token_is_always_computed();
};

void EngineLoopTest::one_request_gets_its_answer() {
  Harness harness;
  const auto prompt = random_prompt(1, 10);
  const Answer answer = ask(*harness.engine, greedy_request(prompt, 20));
  QVERIFY(!answer.timed_out);
  QCOMPARE(answer.ids(), harness.expected(prompt, 20));
  QCOMPARE(answer.all.finish_reason, FinishReason::length);
  QCOMPARE(answer.all.usage.n_prompt_tokens, 10);
  QCOMPARE(answer.all.usage.n_completion_tokens, 20);
  QCOMPARE(harness.script->faults(), std::string());
}

void EngineLoopTest::a_prompt_longer_than_a_step_is_read_in_chunks() {
  Harness harness(with_seqs(4, 8));
  const auto prompt = random_prompt(2, 50);
  const Answer answer = ask(*harness.engine, greedy_request(prompt, 5));
  QCOMPARE(answer.ids(), harness.expected(prompt, 5));
  QCOMPARE(harness.script->n_runs.load(), 7 + 4);  // 50 tokens in steps of 8, the last of which gives the first token
}

void EngineLoopTest::company_changes_nothing_data() {
  QTest::addColumn<int>("n_requests");
  QTest::addColumn<int>("n_tokens_a_step");
  for (const int n : {1, 2, 7, 16}) {
    for (const int chunk : {16, 32, 512}) QTest::addRow("%d requests, steps of %d", n, chunk) << n << chunk;
  }
}

void EngineLoopTest::company_changes_nothing() {
  QFETCH(int, n_requests);
  QFETCH(int, n_tokens_a_step);
  Harness harness(with_seqs(16, n_tokens_a_step));
  std::vector<RequestHandlePtr> handles;
  for (int i = 0; i < n_requests; ++i) {
    handles.push_back(
        *harness.engine->submit(greedy_request(random_prompt(static_cast<std::uint64_t>(i), 3 + 5 * i % 31), 20)));
  }
  for (int i = 0; i < n_requests; ++i) {
    const Answer answer = collect(*handles[static_cast<std::size_t>(i)]);
    QCOMPARE(answer.ids(), harness.expected(random_prompt(static_cast<std::uint64_t>(i), 3 + 5 * i % 31), 20));
  }
  QCOMPARE(harness.script->faults(), std::string());
}

void EngineLoopTest::preemption_changes_nothing() {
  HarnessOptions options = with_seqs(8, 32);
  options.n_blocks = 16;  // 64 tokens, for eight requests of up to 40
  std::atomic<bool> all_wait{false};
  auto script = std::make_shared<FakeScript>();
  script->before_run = [&](const BatchPlan&) {
    all_wait.wait(false);
  };  // on a busy machine one would end before the next comes
  Harness harness(options, script);
  std::vector<RequestHandlePtr> handles;
  for (std::uint64_t i = 0; i < 8; ++i) handles.push_back(*harness.engine->submit(greedy_request(random_prompt(i, 10), 30)));
  all_wait = true;
  all_wait.notify_all();
  std::int64_t n_preemptions = 0;
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Answer answer = collect(*handles[i]);
    QCOMPARE(answer.ids(), harness.expected(random_prompt(i, 10), 30));
    n_preemptions += answer.all.timings.n_preemptions;
  }
  QVERIFY(n_preemptions > 0);
  QCOMPARE(static_cast<std::int64_t>(harness.engine->snapshot()->counters.n_preemptions), n_preemptions);
  QCOMPARE(harness.script->faults(), std::string());
}

/// A runner gives the best token where a request needs nothing else; other requests of the same steps have their logits.
void EngineLoopTest::best_tokens_instead_of_logits_change_nothing() {
  std::vector<GenerateRequest> requests(6, greedy_request({}, 12));
  for (std::size_t i = 0; i < requests.size(); ++i)
    requests[i].prompt_token_ids = random_prompt(i, 4 + static_cast<int>(i), 60);
  requests[1].sampling.temperature = 1;
  requests[1].sampling.seed = 7;
  requests[2].sampling.logprobs = 2;
  requests[3].sampling.repetition_penalty = 1.5;
  requests[4].sampling.prompt_logprobs = 1;  // of the prompt alone: its answer needs no logits
  requests[5].prompt_token_ids[0] = 63;      // is poison
  std::vector<Answer> answers[2];
  for (const bool gives_best : {false, true}) {
    auto script = std::make_shared<FakeScript>();
    script->poison = 63;
    script->gives_best = gives_best;
    Harness harness(with_seqs(8, 64), script);
    std::vector<RequestHandlePtr> handles;
    for (const GenerateRequest& request : requests) handles.push_back(*harness.engine->submit(request));
    for (const auto& handle : handles) answers[gives_best ? 1 : 0].push_back(collect(*handle));
    QCOMPARE(script->faults(), std::string());
    int n_best = 0;  // of requests 0, 4 and 5: their tokens, and a row without a usable one for an error
    for (const std::size_t i : {0U, 4U, 5U}) {
      const Answer& answer = answers[gives_best ? 1 : 0][i];
      n_best += static_cast<int>(answer.ids().size()) + (answer.all.finish_reason == FinishReason::error ? 1 : 0);
    }
    QCOMPARE(script->n_best.load(), gives_best ? n_best : 0);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Answer &want = answers[0][i], &got = answers[1][i];
    QCOMPARE(got.ids(), want.ids());
    QCOMPARE(got.all.finish_reason, want.all.finish_reason);
    QCOMPARE(got.all.chosen_logprobs.size(), want.all.chosen_logprobs.size());
    QCOMPARE(got.all.prompt_logprobs.size(), want.all.prompt_logprobs.size());
  }
  QVERIFY(!answers[1][0].ids().empty());
  QCOMPARE(answers[1][5].all.finish_reason, FinishReason::error);
}

void EngineLoopTest::a_warm_prefix_changes_nothing_but_the_usage() {
  Harness harness;
  const auto prompt = random_prompt(3, 30);
  const Answer cold = ask(*harness.engine, greedy_request(prompt, 10));
  const Answer warm = ask(*harness.engine, greedy_request(prompt, 10));
  QCOMPARE(cold.all.usage.n_cached_tokens, 0);
  QCOMPARE(warm.all.usage.n_cached_tokens, 28);
  QCOMPARE(warm.ids(), cold.ids());
  QCOMPARE(warm.ids(), harness.expected(prompt, 10));
}

void EngineLoopTest::another_salt_shares_no_prefix() {
  Harness harness;
  GenerateRequest request = greedy_request(random_prompt(3, 30), 4);
  request.cache_salt = "tenant one";
  ask(*harness.engine, request);
  QCOMPARE(ask(*harness.engine, request).all.usage.n_cached_tokens, 28);
  request.cache_salt = "tenant two";
  QCOMPARE(ask(*harness.engine, request).all.usage.n_cached_tokens, 0);
}

void EngineLoopTest::without_caching_nothing_is_found() {
  HarnessOptions options;
  options.engine.enable_prefix_caching = false;
  Harness harness(options);
  ask(*harness.engine, greedy_request(random_prompt(3, 30), 4));
  QCOMPARE(ask(*harness.engine, greedy_request(random_prompt(3, 30), 4)).all.usage.n_cached_tokens, 0);
  QCOMPARE(harness.engine->snapshot()->n_blocks_cached, 0);
  QCOMPARE(harness.engine->snapshot()->counters.n_prefix_queries, 0U);
}

void EngineLoopTest::the_last_prompt_token_is_always_computed() {
  Harness harness;
  const auto prompt = random_prompt(4, 32);  // whole blocks
  ask(*harness.engine, greedy_request(prompt, 1));
  QCOMPARE(ask(*harness.engine, greedy_request(prompt, 1)).all.usage.n_cached_tokens, 28);
}

LATHE_TEST(EngineLoopTest)

}  // namespace engine_loop_test
#include "engine_loop_test.moc"
