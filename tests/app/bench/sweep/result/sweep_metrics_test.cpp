// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_metrics.h"

#include <QTest>
#include <cmath>
#include <map>
#include <set>

#include "app/bench/sweep/result/run_record.h"
#include "tests/support/test_class.h"

namespace sweep_metrics_test {

using namespace lathe::app;

namespace {

/// Two requests by hand: the second is sent a second late, as it was planned for second 1.
RunRecord run_by_hand() {
  RunRecord run;
  run.requests.resize(2);
  run.requests[0].scheduled = 0;
  run.requests[0].token_times = {0.5, 0.6, 0.8};
  run.requests[0].end = 0.8;
  run.requests[1].scheduled = 1;
  run.requests[1].token_times = {2.5, 2.6, 2.7};
  run.requests[1].end = 2.7;
  for (SentRequest& request : run.requests) request.usage = {.n_prompt_tokens = 10, .n_completion_tokens = 3};
  run.seconds = 2.7;
  run.kv_usage_peak = 0.25;
  run.n_preemptions = 1;
  run.padding = 0.5;
  run.kv_reserved = 0.75;
  run.kv_unfilled = 0.125;
  run.requests[0].answer = 3;
  run.requests[1].answer = 5;
  return run;
}

std::map<std::string_view, double> metrics_of(const RunRecord& run, const ServiceGoal& goal = {}) {
  std::map<std::string_view, double> named;
  const std::vector<double> values = measure(run, goal);
  for (std::size_t i = 0; i < values.size(); ++i) named[sweep_metrics()[i].name] = values[i];
  return named;
}

bool near(double a, double b) { return std::fabs(a - b) < 1e-9 * std::max(1.0, std::fabs(b)); }

}  // namespace

class SweepMetricsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void other_answers_have_another_checksum() {
    RunRecord run = run_by_hand(), other = run_by_hand();
    QVERIFY(metrics_of(run)["answers"] == metrics_of(other)["answers"]);
    std::swap(other.requests[0].answer, other.requests[1].answer);
    QVERIFY(metrics_of(run)["answers"] != metrics_of(other)["answers"]);
  }

  void every_metric_by_hand() {
    auto got = metrics_of(run_by_hand());
    QVERIFY(near(got["output_tok_s"], 6 / 2.7));
    QVERIFY(near(got["total_tok_s"], 26 / 2.7));
    QVERIFY(near(got["request_s"], 2 / 2.7));
    QVERIFY(near(got["ttft_ms_mean"], 1000));
    QVERIFY(near(got["ttft_ms_p50"], 500));
    QVERIFY(near(got["ttft_ms_p99"], 1500));
    QVERIFY(near(got["itl_ms_mean"], 125));
    QVERIFY(near(got["itl_ms_p99"], 200));
    QVERIFY(near(got["tpot_ms_mean"], 125));
    QVERIFY(near(got["e2e_ms_mean"], 1250));
    QVERIFY(near(got["e2e_ms_p99"], 1700));
    QVERIFY(near(got["kv_usage_peak"], 0.25));
    QVERIFY(near(got["padding"], 0.5));
    QVERIFY(near(got["kv_reserved"], 0.75));
    QVERIFY(near(got["kv_unfilled"], 0.125));
    QVERIFY(near(got["preemptions"], 1));
  }

  /// A server that sends an answer in one piece says nothing of the time between its tokens.
  void an_answer_in_one_piece_has_no_time_a_token() {
    RunRecord run = run_by_hand();
    run.requests[0].token_times.resize(1);
    const double of_the_other = metrics_of(run)["tpot_ms_mean"];
    QVERIFY(of_the_other > 0);
    run.requests[1].token_times.resize(1);
    QVERIFY(std::isnan(metrics_of(run)["tpot_ms_mean"]));
    QVERIFY(std::isnan(metrics_of(run)["itl_ms_mean"]));
  }

  /// 4 and 9 of 10 tokens each; a server that does not say leaves it unseen.
  void cached_tokens_are_a_share_of_all_prompts() {
    RunRecord run = run_by_hand();
    run.requests[0].usage.n_cached_tokens = 4;
    run.requests[1].usage.n_cached_tokens = 9;
    QVERIFY(near(metrics_of(run)["cached_share"], 0.65));
    run.requests[1].knows_cached = false;
    QVERIFY(std::isnan(metrics_of(run)["cached_share"]));
  }

  /// By hand: one token, then three at 0.9 and one at 1.0: gaps of 0.3, 0.3, 0.3 (not 0.9, 0, 0) and 0.1. What comes with
  /// the first has none.
  void tokens_that_come_together_share_their_gap() {
    RunRecord run;
    run.requests.resize(2);
    run.requests[0].token_times = {0.0, 0.9, 0.9, 0.9, 1.0};
    run.requests[1].token_times = {0.5, 0.5, 0.6};
    auto got = metrics_of(run);
    QVERIFY(near(got["itl_ms_mean"], (3 * 300 + 100 + 100) / 5.0));
    QVERIFY(near(got["itl_ms_p50"], 300));
    QVERIFY(near(got["itl_ms_p99"], 300));
    run.requests.resize(1);
    run.requests[0].token_times = {0.5, 0.5, 0.5};
    QVERIFY(std::isnan(metrics_of(run)["itl_ms_p50"]));  // nothing was seen between them
    for (const SweepMetric& metric : sweep_metrics()) {
      if (metric.name == "itl_ms_mean") QVERIFY(metric.definition.find("arrive together share") != metric.definition.npos);
    }
  }

  void goodput_counts_what_met_the_goal() {
    QVERIFY(near(metrics_of(run_by_hand(), {.ttft_ms = 600})["goodput_req_s"], 1 / 2.7));
    QVERIFY(near(metrics_of(run_by_hand(), {.ttft_ms = 600, .itl_ms = 120})["goodput_req_s"], 0));
    QVERIFY(near(metrics_of(run_by_hand(), {.ttft_ms = 2000, .itl_ms = 120})["goodput_req_s"], 1 / 2.7));
  }

  void names_are_there_once_and_explained() {
    std::set<std::string_view> names;
    for (const SweepMetric& metric : sweep_metrics()) {
      QVERIFY(names.insert(metric.name).second && !metric.unit.empty() && !metric.definition.empty());
    }
  }
};

LATHE_TEST(SweepMetricsTest)

}  // namespace sweep_metrics_test
#include "sweep_metrics_test.moc"
