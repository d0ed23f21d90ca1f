// SPDX-License-Identifier: Apache-2.0
// Two sweeps beside each other: which cells they have in common, what else differs, and what is better or worse.
#include "app/api/sweep_comparison.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace sweep_comparison_test {

using namespace lathe;
using namespace lathe::app;

namespace {

SweepPlan plan_with(std::vector<SweepVariable> variables) {
  SweepPlan plan;
  plan.options.model = "/models/small";
  plan.variables = std::move(variables);
  return plan;
}

/// A result of one metric; all others are 1.
CellResult result(std::string_view metric, const std::vector<double>& values) {
  CellResult cell;
  for (const double value : values) {
    cell.samples.emplace_back(sweep_metrics().size(), 1.0);
    cell.samples.back()[metric_index(metric)] = value;
  }
  return cell;
}

std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const SweepComparison& both) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const CellPair& cell : both.cells) pairs.emplace_back(cell.a, cell.b);
  return pairs;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

}  // namespace

class SweepComparisonTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cells_with_equal_values_belong_together() {
    const SweepPlan a = plan_with({{"concurrency", {"1", "2", "4"}}});
    const SweepPlan b = plan_with({{"concurrency", {"8", "4", "1"}}});
    const SweepComparison both = match_sweeps(a, b);
    QCOMPARE(pairs_of(both), (Pairs{{0, 2}, {2, 1}}));
    QCOMPARE(both.cells[1].values, (std::vector<std::pair<std::string, std::string>>{{"concurrency", "4"}}));
    QVERIFY(both.settings.empty());
  }

  void the_order_of_variables_does_not_matter() {
    const SweepPlan a = plan_with({{"concurrency", {"1", "2"}}, {"block_size", {"8", "16"}}});
    const SweepPlan b = plan_with({{"block_size", {"16", "8"}}, {"concurrency", {"1", "2"}}});
    QCOMPARE(pairs_of(match_sweeps(a, b)), (Pairs{{0, 2}, {1, 0}, {2, 3}, {3, 1}}));
  }

  /// Cells are paired where their policy is the fixed policy of the other sweep.
  void a_variable_of_one_has_the_fixed_value_of_the_other() {
    const SweepPlan a = plan_with({{"policy", {"paged", "static"}}, {"concurrency", {"1", "2"}}});
    SweepPlan b = plan_with({{"concurrency", {"1", "2"}}});
    b.options.policy = "static";
    const SweepComparison both = match_sweeps(a, b);
    QCOMPARE(pairs_of(both), (Pairs{{2, 0}, {3, 1}}));
    QCOMPARE(both.cells[0].values[0], (std::pair<std::string, std::string>{"policy", "static"}));
    QVERIFY(both.settings.empty());  // the policy is a value of the cells
  }

  void what_neither_varies_is_told_where_it_differs() {
    const SweepPlan a = plan_with({{"concurrency", {"1"}}});
    SweepPlan b = a;
    b.options.policy = "static";
    b.workload.output_tokens = 7;
    b.name = "another name is no difference";
    const SweepComparison both = match_sweeps(a, b);
    QCOMPARE(both.cells.size(), std::size_t{1});
    QCOMPARE(both.settings.size(), std::size_t{2});
    QCOMPARE(both.settings[0].name + both.settings[0].a + both.settings[0].b, std::string("output_tokens1287"));
    QCOMPARE(both.settings[1].name + both.settings[1].a + both.settings[1].b, std::string("policypagedstatic"));
  }

  void numbers_are_equal_however_they_are_written() {
    const SweepPlan a = plan_with({{"temperature", {"0.5", "1"}}});
    const SweepPlan b = plan_with({{"temperature", {"1.0", "0.50"}}});
    QCOMPARE(pairs_of(match_sweeps(a, b)), (Pairs{{0, 1}, {1, 0}}));
  }

  void an_engine_and_a_target_have_the_work_in_common() {
    const SweepPlan a = plan_with({{"concurrency", {"1", "2"}}});
    SweepPlan b = plan_with({{"concurrency", {"2"}}});
    b.target.url = "http://127.0.0.1:9";
    const SweepComparison both = match_sweeps(a, b);
    QCOMPARE(pairs_of(both), (Pairs{{1, 0}}));
    QCOMPARE(both.settings[0].name, std::string("target"));
    QCOMPARE(both.settings[0].b, std::string("http://127.0.0.1:9"));
  }

  void other_work_has_nothing_in_common() {
    QVERIFY(match_sweeps(plan_with({{"concurrency", {"1"}}}), plan_with({{"concurrency", {"2"}}})).cells.empty());
  }

  /// Rates 100 and 200 with a spread of one: more is better for the rate, worse for a time.
  void ratio_and_verdict_are_those_of_the_second() {
    SweepReport a, b;
    a.cells[0] = result("output_tok_s", {99, 100, 101});
    b.cells[5] = result("output_tok_s", {199, 200, 201});
    const CellPair pair{.values = {}, .a = 0, .b = 5};
    const std::size_t rate = metric_index("output_tok_s"), ttft = metric_index("ttft_ms_p99");
    const MetricComparison faster = compare_metric(a, b, pair, rate);
    QCOMPARE(*faster.ratio, 2.0);
    QVERIFY(faster.verdict == Verdict::better);
    QVERIFY(compare_metric(b, a, {.values = {}, .a = 5, .b = 0}, rate).verdict == Verdict::worse);
    QVERIFY(compare_metric(a, b, pair, ttft).verdict == Verdict::noise);  // 1 in all runs
    a.cells[0] = result("ttft_ms_p99", {99, 100, 101});
    b.cells[5] = result("ttft_ms_p99", {199, 200, 201});
    QVERIFY(compare_metric(a, b, pair, ttft).verdict == Verdict::worse);
    a.cells[0] = result("output_tok_s", {50, 100, 150});
    b.cells[5] = result("output_tok_s", {60, 110, 160});
    QVERIFY(compare_metric(a, b, pair, rate).verdict == Verdict::noise);
  }

  void what_is_missing_gives_no_ratio() {
    SweepReport a, b;
    const CellPair pair{.values = {}, .a = 0, .b = 0};
    const std::size_t rate = metric_index("output_tok_s"), padding = metric_index("padding");
    QVERIFY(!compare_metric(a, b, pair, rate).ratio);
    a.cells[0] = result("output_tok_s", {100, 101});
    b.cells[0] = result("output_tok_s", {100, 101});
    b.cells[0].error = "no room";
    const MetricComparison failed = compare_metric(a, b, pair, rate);
    QCOMPARE(failed.a.n, std::size_t{2});
    QCOMPARE(failed.b.n, std::size_t{0});
    QVERIFY(!failed.ratio && failed.verdict == Verdict::unknown);
    b.cells[0].error.clear();
    a.cells[0] = result("padding", {0, 0});
    b.cells[0] = result("padding", {0.5, 0.5});
    const MetricComparison from_nothing = compare_metric(a, b, pair, padding);
    QVERIFY(!from_nothing.ratio);
    QVERIFY(from_nothing.verdict == Verdict::worse);
  }

  void answers_are_the_same_or_not_or_unseen() {
    SweepReport a, b;
    const CellPair pair{.values = {}, .a = 0, .b = 0};
    QVERIFY(!same_answers(a, b, pair));
    a.cells[0] = result("answers", {7, 8});
    b.cells[0] = result("answers", {7, 9});
    QVERIFY(*same_answers(a, b, pair));  // the first run of each had the same requests
    b.cells[0] = result("answers", {6, 8});
    QVERIFY(!*same_answers(a, b, pair));
    b.cells[0] = result("answers", {std::numeric_limits<double>::quiet_NaN()});
    QVERIFY(!same_answers(a, b, pair));
  }
};

LATHE_TEST(SweepComparisonTest)

}  // namespace sweep_comparison_test
#include "sweep_comparison_test.moc"
