// SPDX-License-Identifier: Apache-2.0
// The least time of a sweep that nothing is known of.
#include "app/api/sweep_bound.h"

#include <QTest>
#include <cmath>

#include "tests/support/test_class.h"

namespace sweep_bound_test {

using namespace lathe;
using namespace lathe::app;

namespace {

constexpr std::int64_t kCache = 64 << 20;

/// A dense model: 10 layers of 1000 parameters, and a head of 2000 that is its embeddings too.
engine::ModelInfo dense_model() {
  engine::ModelInfo info;
  info.n_parameters = 12'000;
  info.vocab_size = 200;
  info.hidden_size = 10;
  info.n_layers = 10;
  info.n_heads = info.n_kv_heads = 1;
  info.head_dim = 10;
  info.intermediate_size = 20;
  info.tied_embeddings = true;
  return info;
}

SweepPlan plan_of_one() {
  SweepPlan plan;
  plan.options.model = "somewhere";
  plan.workload = {.prompt_tokens = 100, .output_tokens = 50, .requests = 4, .concurrency = 2};
  plan.repeats = 3;
  plan.warm_up = false;
  return plan;
}

constexpr kernels::Ceilings kReads{.read_gb_s = 1, .fma_gflop_s = 1e6};        // nothing but reading takes time
constexpr kernels::Ceilings kComputes{.read_gb_s = 1e9, .fma_gflop_s = 1e-3};  // nothing but computing does

WeightBytes weights_of(std::int64_t bytes) {
  return [bytes](const engine::EngineOptions&) -> engine::Result<std::int64_t> { return bytes; };
}

bool near(std::optional<double> a, double b) { return a && std::fabs(*a - b) < 1e-6 * b; }

}  // namespace

class SweepBoundTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// 2 rounds of 50 steps, each of which reads a gigabyte.
  void each_step_reads_the_weights() {
    const WeightBytes weights = weights_of(kCache + 1'000'000'000);
    QVERIFY(near(least_seconds(plan_of_one(), dense_model(), kReads, weights), 3 * 2 * 50));
    SweepPlan plan = plan_of_one();
    plan.warm_up = true;
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights), 4 * 2 * 50));
    plan.stop_at_ci = 0.05;
    plan.repeats = 10;  // of which three may be enough
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights), 4 * 2 * 50));
    plan.variables = {{"concurrency", {"1", "4"}}};
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights), 4 * (4 + 1) * 50));
  }

  void what_a_cache_holds_is_not_read() {
    const auto seconds = least_seconds(plan_of_one(), dense_model(), kReads, weights_of(kCache));
    QVERIFY(seconds && *seconds < 1e-3);
  }

  /// Two operations a parameter: of 4 prompts those of the layers, of 4 answers those of the head too.
  void each_token_is_computed() {
    const double operations = 2.0 * 4 * (100 * 10'000 + 50 * 12'000);
    QVERIFY(near(least_seconds(plan_of_one(), dense_model(), kComputes, weights_of(kCache)), 3 * operations / 1e6));
    SweepPlan plan = plan_of_one();
    plan.workload.shared_prefix = 0.5;  // may be found in the prefix cache
    QVERIFY(near(least_seconds(plan, dense_model(), kComputes, weights_of(kCache)),
                 3 * 2.0 * 4 * (50 * 10'000 + 50 * 12'000) / 1e6));
    kernels::Ceilings faster = kComputes;
    faster.int8_gop_s = 4e-3;
    QVERIFY(near(least_seconds(plan_of_one(), dense_model(), faster, weights_of(kCache)), 3 * operations / 1e6));
    plan = plan_of_one();
    plan.options.quantization = "int8_g32";
    QVERIFY(near(least_seconds(plan, dense_model(), faster, weights_of(kCache)), 3 * operations / 4e6));
  }

  void requests_come_when_they_are_due() {
    SweepPlan plan = plan_of_one();
    plan.workload.load = "constant";
    plan.workload.rate = 0.1;
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights_of(kCache)), 3 * 30));
    plan.workload.max_seconds = 20;
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights_of(kCache)), 3 * 20));
  }

  void poisson_arrivals_may_come_at_once() {
    SweepPlan plan = plan_of_one();
    plan.workload.load = "poisson";
    plan.workload.rate = 0.001;
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights_of(kCache + 1'000'000'000)), 3 * 50));
  }

  void a_conversation_of_a_dataset_may_have_one_turn() {
    const WeightBytes weights = weights_of(kCache + 1'000'000'000);
    SweepPlan plan = plan_of_one();
    plan.workload.turns = 3;
    plan.workload.think_time = 10;
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights), 3 * 2 * (3 * 50 + 2 * 10)));
    plan.workload.dataset = "/nowhere/conversations.jsonl";
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights), 3 * 2 * 50));
  }

  /// While one thinks, another's tokens are computed.
  void thinking_does_not_add_to_computing() {
    SweepPlan plan = plan_of_one();
    plan.workload.turns = 2;
    plan.workload.turn_tokens = 10;
    plan.workload.think_time = 1;
    const double operations = 2.0 * 4 * (110 * 10'000 + 100 * 12'000);
    QVERIFY(near(least_seconds(plan, dense_model(), kComputes, weights_of(kCache)), 3 * operations / 1e6));
  }

  void lengths_are_the_shortest_that_are_drawn() {
    const WeightBytes weights = weights_of(kCache + 1'000'000'000);
    SweepPlan plan = plan_of_one();
    plan.workload.length_spread = 0.5;
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights), 3 * 2 * 25));
    plan.workload.length_spread = 1;
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights), 3 * 2 * 1));
    plan.workload.length_distribution = "lognormal";
    QVERIFY(!least_seconds(plan, dense_model(), kReads, weights));
  }

  void weights_are_asked_for_once_a_format() {
    SweepPlan plan = plan_of_one();
    plan.variables = {{"quantization", {"none", "int8_g32"}}, {"concurrency", {"1", "2", "4"}}};
    int n_asked = 0;
    const WeightBytes weights = [&](const engine::EngineOptions& options) -> engine::Result<std::int64_t> {
      ++n_asked;
      if (options.quantization == "none") return engine::fail(engine::ErrorCode::resource_exhausted, "no room", "memory");
      return kCache + 1'000'000'000;
    };
    // A cell whose model cannot be loaded fails at once and adds no time.
    QVERIFY(near(least_seconds(plan, dense_model(), kReads, weights), 3 * (4 + 2 + 1) * 50));
    QCOMPARE(n_asked, 2);
  }

  void of_some_nobody_knows() {
    engine::ModelInfo experts = dense_model();
    experts.n_parameters = 80'000;
    QVERIFY(!least_seconds(plan_of_one(), experts, kReads, weights_of(kCache)));
    QVERIFY(!least_seconds(plan_of_one(), dense_model(), {}, weights_of(kCache)));
    SweepPlan plan = plan_of_one();
    plan.target.url = "http://there:1";
    QVERIFY(!least_seconds(plan, dense_model(), kReads, weights_of(kCache)));
    plan = plan_of_one();
    plan.workload.load = "replay";
    QVERIFY(!least_seconds(plan, dense_model(), kReads, weights_of(kCache)));
    plan = plan_of_one();
    plan.workload.too_long = "cut";
    QVERIFY(!least_seconds(plan, dense_model(), kReads, weights_of(kCache)));
    plan = plan_of_one();
    plan.workload.max_waiting = 2;
    QVERIFY(least_seconds(plan, dense_model(), kReads, weights_of(kCache)));  // of open loads alone
    plan.workload.load = "constant";
    QVERIFY(!least_seconds(plan, dense_model(), kReads, weights_of(kCache)));
  }
};

LATHE_TEST(SweepBoundTest)

}  // namespace sweep_bound_test
#include "sweep_bound_test.moc"
