// SPDX-License-Identifier: Apache-2.0
// The sampler draws from the distribution that the parameters describe: chi-squared tests on 10^5 draws, p > 0.001.
#include <QTest>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "engine/sample/sampler.h"
#include "tests/support/sampling.h"
#include "tests/support/test_class.h"

namespace distribution_test {

using namespace lathe::engine;
using lathe::tests::normal_logits;
using lathe::tests::probabilities;
using lathe::tests::SamplingRow;

namespace {

constexpr int kDraws = 100'000;

/// Upper 0.001 quantile by Wilson and Hilferty's approximation.
double critical_value(int n_free) {
  const double a = 2.0 / (9.0 * n_free);
  return n_free * std::pow(1 - a + 3.0902 * std::sqrt(a), 3);
}

/// Tokens expected fewer than ten times are counted together.
bool fits(const std::vector<int>& counts, const std::vector<double>& expected) {
  double chi_squared = 0, rest_expected = 0, rest_count = 0;
  int n_bins = 0;
  const auto add = [&](double count, double mean) {
    chi_squared += (count - mean) * (count - mean) / mean;
    ++n_bins;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double mean = expected[i] * kDraws;
    if (mean == 0 && counts[i] != 0) return false;
    if (mean >= 10) {
      add(counts[i], mean);
    } else {
      rest_expected += mean;
      rest_count += counts[i];
    }
  }
  if (rest_expected >= 10) add(rest_count, rest_expected);
  return chi_squared < critical_value(n_bins - 1);
}

/// The probabilities of the candidates that `keep` selects, normalised after all others are dropped.
std::vector<double> kept(std::vector<double> p,
                         const std::function<bool(std::size_t rank, double before, double value)>& keep) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return p[a] > p[b]; });
  double before = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double value = p[order[rank]];
    if (!keep(rank, before, value)) p[order[rank]] = 0;
    before += value;
  }
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
  return p;
}

SamplingRow row(std::size_t n, float spread) {
  SamplingRow out;
  out.logits = normal_logits(n, spread, 11);
  return out;
}

}  // namespace

class DistributionTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void plain() {
    SamplingRow r = row(200, 1.5f);
    QVERIFY(fits(r.histogram(kDraws), probabilities(r.logits)));
  }
  void uniform_over_a_large_row() {
    SamplingRow r;
    r.logits.assign(1000, 3.0f);
    QVERIFY(fits(r.histogram(kDraws), std::vector<double>(1000, 0.001)));
  }
  void with_temperature() {
    SamplingRow r = row(200, 1.5f);
    r.params.temperature = 0.6;
    std::vector<float> scaled = r.logits;
    for (float& logit : scaled) logit /= 0.6f;
    QVERIFY(fits(r.histogram(kDraws), probabilities(scaled)));
  }
  void with_top_k() {
    SamplingRow r = row(300, 1.0f);
    r.params.top_k = 12;
    QVERIFY(fits(r.histogram(kDraws),
                 kept(probabilities(r.logits), [](std::size_t rank, double, double) { return rank < 12; })));
  }
  void with_top_p() {
    SamplingRow r = row(300, 1.0f);
    r.params.top_p = 0.7;
    QVERIFY(fits(r.histogram(kDraws),
                 kept(probabilities(r.logits), [](std::size_t, double before, double) { return before < 0.7; })));
  }
  void with_min_p() {
    SamplingRow r = row(300, 1.0f);
    r.params.min_p = 0.1;
    const auto p = probabilities(r.logits);
    const double best = *std::max_element(p.begin(), p.end());
    QVERIFY(fits(r.histogram(kDraws), kept(p, [&](std::size_t, double, double value) { return value >= 0.1 * best; })));
  }
  void along_one_answer() {
    SamplingRow r = row(50, 1.0f);
    std::vector<int> counts(50, 0);
    for (int i = 0; i < kDraws; ++i) {
      r.output.assign(static_cast<std::size_t>(i % 4096), 0);
      r.seed = static_cast<std::uint64_t>(i / 4096);
      ++counts[static_cast<std::size_t>(r.sample().token)];
    }
    QVERIFY(fits(counts, probabilities(r.logits)));
  }
  void the_check_itself_can_fail() {
    SamplingRow r = row(200, 1.5f);
    r.params.temperature = 0.95;
    QVERIFY(!fits(r.histogram(kDraws), probabilities(r.logits)));
  }
};

LATHE_TEST(DistributionTest)

}  // namespace distribution_test
#include "distribution_test.moc"
