// SPDX-License-Identifier: Apache-2.0
// Confidence intervals, verdicts and Pareto fronts, by hand.
#include "app/api/sweep_statistics.h"

#include <QTest>
#include <cmath>
#include <span>

#include "tests/support/sweep_results.h"
#include "tests/support/test_class.h"

namespace sweep_statistics_test {

using namespace lathe;
using namespace lathe::app;
using tests::cell_with_rates;

class SweepStatisticsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// By hand: mean 2, deviation 1, t of 2 degrees 4.303.
  void a_confidence_interval_is_student_s() {
    const double samples[] = {1, 2, 3};
    const Estimate got = estimate(samples);
    QCOMPARE(got.mean, 2.0);
    QVERIFY(std::fabs(got.half_width - 4.303 / std::sqrt(3.0)) < 1e-3);
    QCOMPARE(estimate(std::span(samples, 1)).half_width, 0.0);
    const std::vector<double> equal(3, 0.1);  // their sum is no multiple of it in binary
    QCOMPARE(estimate(equal).half_width, 0.0);
    QCOMPARE(estimate(equal).mean, 0.1);
    QCOMPARE(estimate({}).n, std::size_t{0});
  }

  /// Quantiles of R's qt(0.975, n - 1) in the table, and above its end.
  void the_quantiles_are_those_of_student() {
    const struct {
      int n;
      double quantile;
    } rows[] = {{2, 12.706}, {11, 2.228}, {12, 2.201}, {21, 2.086}, {22, 2.080}, {31, 2.042}, {121, 1.980}};
    for (const auto& [n, quantile] : rows) {
      std::vector<double> samples(static_cast<std::size_t>(n), 0.0);
      samples[0] = 1;  // their variance is 1 / n, that of their mean 1 / n^2
      QVERIFY2(std::fabs(estimate(samples).half_width * n - quantile) < 1e-3, QByteArray::number(n));
    }
  }

  void a_verdict_needs_more_than_noise() {
    const std::size_t rate = metric_index("output_tok_s"), ttft = metric_index("ttft_ms_p50");
    const CellResult slow = cell_with_rates({100, 101, 99}), fast = cell_with_rates({120, 121, 119}),
                     loud = cell_with_rates({60, 160, 110});
    QCOMPARE(compare(fast, slow, rate), Verdict::better);
    QCOMPARE(compare(slow, fast, rate), Verdict::worse);
    QCOMPARE(compare(fast, slow, ttft), Verdict::worse);
    QCOMPARE(compare(loud, slow, rate), Verdict::noise);
    QCOMPARE(compare(slow, slow, rate), Verdict::noise);
    QCOMPARE(compare(cell_with_rates({120}), slow, rate), Verdict::unknown);
    QCOMPARE(compare(CellResult{.samples = {}, .error = "x"}, slow, rate), Verdict::unknown);
  }

  /// Welch by hand: means 10 and 13, variances 1 and 1 of three runs: t = 3 / sqrt(2/3) = 3.674 with 4 degrees (2.776).
  void its_bounds_are_those_of_welch() {
    const std::size_t rate = metric_index("output_tok_s");
    QCOMPARE(compare(cell_with_rates({12, 13, 14}), cell_with_rates({9, 10, 11}), rate), Verdict::better);
    // Means 10 and 12.2: t = 2.694.
    QCOMPARE(compare(cell_with_rates({11.2, 12.2, 13.2}), cell_with_rates({9, 10, 11}), rate), Verdict::noise);
  }

  /// Perplexity is uncertain over its tokens, however often it was measured; a load that happened once tells of no spread.
  void what_was_measured_once_has_the_verdict_of_its_own_interval() {
    const auto cell_with = [](double perplexity, double half_width) {
      CellResult cell = cell_with_rates({100, 101, 99});
      for (std::vector<double>& sample : cell.samples) sample[metric_index("load_s")] = std::nan("");
      cell.samples[0][metric_index("load_s")] = perplexity;
      for (std::size_t i = 0; i < 3; ++i) {
        cell.samples[i][metric_index("perplexity")] = i == 0 ? perplexity : std::nan("");
        cell.samples[i][metric_index("perplexity_ci95")] = i == 0 ? half_width : std::nan("");
      }
      return cell;
    };
    const std::size_t perplexity = metric_index("perplexity");
    QCOMPARE(compare(cell_with(26, 0.5), cell_with(25.5, 0.5), perplexity), Verdict::noise);  // 0.5 of 0.707
    QCOMPARE(compare(cell_with(26, 0.3), cell_with(25.5, 0.3), perplexity), Verdict::worse);  // 0.5 of 0.424
    QCOMPARE(compare(cell_with(9, 1), cell_with(1, 1), metric_index("load_s")), Verdict::unknown);
  }

  /// (tok/s, TTFT) of four cells: (10, 1), (20, 2), (15, 3), (30, 9). The second beats the third in both.
  void nothing_beats_the_front() {
    const std::size_t rate = metric_index("output_tok_s"), ttft = metric_index("ttft_ms_p99");
    const double points[][2] = {{10, 1}, {20, 2}, {15, 3}, {30, 9}};
    SweepReport report;
    for (std::size_t i = 0; i < 4; ++i) {
      report.cells[i].samples.emplace_back(sweep_metrics().size(), 0.0);
      report.cells[i].samples[0][rate] = points[i][0];
      report.cells[i].samples[0][ttft] = points[i][1];
    }
    const std::vector<std::size_t> front = pareto_front(report, rate, ttft);
    QVERIFY((front == std::vector<std::size_t>{0, 1, 3}));
  }
};

LATHE_TEST(SweepStatisticsTest)

}  // namespace sweep_statistics_test
#include "sweep_statistics_test.moc"
