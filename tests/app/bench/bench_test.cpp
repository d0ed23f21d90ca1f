// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench.h"

#include <QTest>

#include "tests/support/engine_harness.h"
#include "tests/support/test_class.h"

namespace bench_test {

namespace {

using lathe::app::BenchKind;
using lathe::app::BenchPlan;
using lathe::app::BenchProgress;
using lathe::app::run_bench;
using lathe::engine::ErrorCode;
using lathe::tests::Harness;

const auto kGoOn = [](const BenchProgress&) { return true; };

BenchPlan small_plan() {
  BenchPlan plan;
  plan.n_prompt = 24;
  plan.n_generate = 10;
  plan.concurrency = {1, 3};
  plan.n_repeats = 2;
  return plan;
}

}  // namespace

class BenchTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_run_has_its_samples();
  void zero_leaves_a_kind_out();
  void nothing_to_do_is_no_error();
  void the_prefix_cache_does_not_help();
  void a_depth_lies_in_the_cache_before();
  void a_depth_that_is_not_kept_is_an_error();
  void the_engine_does_the_work_that_is_counted();
  void progress_counts_runs();
  void the_observer_can_stop_it();
  void a_stopped_benchmark_leaves_no_requests();
  void a_prompt_beyond_the_context_is_refused();
  void a_failing_engine_is_an_error();
  void a_second_benchmark_is_not_helped_by_the_first();
};

void BenchTest::every_run_has_its_samples() {
  const Harness harness;
  const auto runs = run_bench(*harness.engine, small_plan(), kGoOn);
  QVERIFY2(runs.has_value(), runs ? "" : runs.error().message.c_str());
  QCOMPARE(runs->size(), std::size_t{4});
  const std::vector<std::tuple<BenchKind, int, int>> expected = {
      {BenchKind::pp, 24, 1}, {BenchKind::pp, 24, 3}, {BenchKind::tg, 10, 1}, {BenchKind::tg, 10, 3}};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& run = (*runs)[i];
    QVERIFY(std::tuple(run.kind, run.n_tokens, run.concurrency) == expected[i]);
    QCOMPARE(run.samples_tok_s.size(), std::size_t{2});
    for (const double tok_s : run.samples_tok_s) QVERIFY(tok_s > 0);
  }
  QCOMPARE(name_of(BenchKind::pp), std::string_view("pp"));
  QCOMPARE(name_of(BenchKind::tg), std::string_view("tg"));
}

void BenchTest::zero_leaves_a_kind_out() {
  const Harness harness;
  BenchPlan plan = small_plan();
  plan.n_prompt = 0;
  const auto without_pp = *run_bench(*harness.engine, plan, kGoOn);
  QCOMPARE(without_pp.size(), std::size_t{2});
  for (const auto& run : without_pp) QVERIFY(run.kind == BenchKind::tg);
  plan = small_plan();
  plan.n_generate = 0;
  const auto without_tg = *run_bench(*harness.engine, plan, kGoOn);
  QCOMPARE(without_tg.size(), std::size_t{2});
  for (const auto& run : without_tg) QVERIFY(run.kind == BenchKind::pp);
}

void BenchTest::nothing_to_do_is_no_error() {
  const Harness harness;
  BenchPlan plan;
  plan.n_prompt = plan.n_generate = 0;
  QVERIFY(run_bench(*harness.engine, plan, kGoOn)->empty());
}

void BenchTest::a_depth_lies_in_the_cache_before() {
  const Harness harness;
  BenchPlan plan = small_plan();
  plan.depth = 32;
  plan.concurrency = {3};
  plan.n_repeats = 1;
  const auto runs = run_bench(*harness.engine, plan, kGoOn);
  QVERIFY2(runs.has_value(), runs ? "" : runs.error().message.c_str());
  QCOMPARE(runs->back().depth, 32);
  // Two kinds, each with a warm-up: three streams that find 32 tokens.
  const auto counters = harness.engine->snapshot()->counters;
  QVERIFY(counters.n_prefix_hits >= 2 * 2 * 3 * 32);
  // The depth is computed once, for the first of the four samples. Beyond it: two prompts of 24, two of 1, and what the
  // cache never gives, the last tokens of the depth.
  QVERIFY(counters.n_prefill_tokens < 3 * (32 + 2 * 24 + 2) + 3 * 3 * 32);
}

void BenchTest::a_depth_that_is_not_kept_is_an_error() {
  lathe::engine::EngineOptions options;
  options.enable_prefix_caching = false;
  const Harness harness({.engine = options});
  BenchPlan plan = small_plan();
  plan.depth = 32;
  const auto runs = run_bench(*harness.engine, plan, kGoOn);
  QVERIFY(!runs.has_value());
  QVERIFY(runs.error().code == ErrorCode::invalid_argument && runs.error().where == "depth");
}

void BenchTest::the_prefix_cache_does_not_help() {
  const Harness harness;
  QVERIFY(run_bench(*harness.engine, small_plan(), kGoOn).has_value());
  QCOMPARE(harness.engine->snapshot()->counters.n_prefix_hits, std::uint64_t{0});
}

void BenchTest::the_engine_does_the_work_that_is_counted() {
  const Harness harness;
  BenchPlan plan = small_plan();
  plan.concurrency = {2};
  plan.n_generate = 0;
  QVERIFY(run_bench(*harness.engine, plan, kGoOn).has_value());
  // Two streams, three samples (one of them the warm-up).
  QCOMPARE(harness.engine->snapshot()->counters.n_prefill_tokens, std::uint64_t{24 * 2 * 3});
}

void BenchTest::progress_counts_runs() {
  const Harness harness;
  int n_calls = 0, last_done = 0, total = 0;
  QVERIFY(run_bench(*harness.engine, small_plan(), [&](const BenchProgress& now) {
            ++n_calls;
            last_done = now.n_done;
            total = now.n_total;
            return true;
          }).has_value());
  QVERIFY(n_calls >= 8);
  QCOMPARE(last_done, 3);
  QCOMPARE(total, 4);
}

void BenchTest::the_observer_can_stop_it() {
  const Harness harness;
  const auto runs = run_bench(*harness.engine, small_plan(), [](const BenchProgress& now) { return now.n_done < 1; });
  QCOMPARE(runs.error().code, ErrorCode::cancelled);
}

void BenchTest::a_stopped_benchmark_leaves_no_requests() {
  const Harness harness;
  QVERIFY(!run_bench(*harness.engine, small_plan(), [](const BenchProgress&) { return false; }).has_value());
  QTRY_COMPARE_WITH_TIMEOUT(harness.engine->snapshot()->n_running + harness.engine->snapshot()->n_waiting, 0, 20'000);
  QCOMPARE(harness.engine->snapshot()->n_blocks_used, 0);
}

void BenchTest::a_prompt_beyond_the_context_is_refused() {
  const Harness harness;
  BenchPlan plan = small_plan();
  plan.n_prompt = 5000;
  const auto runs = run_bench(*harness.engine, plan, kGoOn);
  QCOMPARE(runs.error().code, ErrorCode::invalid_argument);
}

void BenchTest::a_failing_engine_is_an_error() {
  const Harness harness;
  harness.script->n_failures_to_come = 1;
  QVERIFY(!run_bench(*harness.engine, small_plan(), kGoOn).has_value());
  QVERIFY(run_bench(*harness.engine, small_plan(), kGoOn).has_value());
}

void BenchTest::a_second_benchmark_is_not_helped_by_the_first() {
  const Harness harness;
  for (int i = 0; i < 2; ++i) QVERIFY(run_bench(*harness.engine, small_plan(), kGoOn).has_value());
  QCOMPARE(harness.engine->snapshot()->counters.n_prefix_hits, std::uint64_t{0});
}

LATHE_TEST(BenchTest)

}  // namespace bench_test
#include "bench_test.moc"
