// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/softmax.h"

#include <QTest>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/test_class.h"

namespace softmax_test {

using namespace lathe::engine;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_logits(std::size_t n, float spread, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(n);
  for (float& logit : logits) logit = normal(generator);
  return logits;
}

}  // namespace

class SoftmaxTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void the_best_is_found_at_every_place() {
    for (std::size_t n : {1, 3, 4, 5, 17, 64, 1000}) {
      for (std::size_t at = 0; at < n; ++at) {
        std::vector<float> logits(n, -2.0f);
        logits[at] = 1.5f;
        const BestLogit best = best_logit(logits);
        QVERIFY(best.usable && best.value == 1.5f && best.id == static_cast<std::int32_t>(at));
      }
    }
  }
  void of_equals_the_lowest_id_is_best() {
    const std::vector<float> logits = {0, 3, 1, 3, 3};
    QCOMPARE(best_logit(logits).id, 1);
  }
  void as_many_are_counted_as_are_at_least_the_bar() {
    const float inf = std::numeric_limits<float>::infinity();
    for (std::size_t n = 1; n < 12; ++n) {
      std::vector<float> logits;
      for (std::size_t i = 0; i < n; ++i) logits.push_back(i % 3 == 0 ? -inf : static_cast<float>(i % 4));
      for (const float bar : {-inf, -1.0f, 0.0f, 1.0f, 2.0f, 2.5f, 9.0f}) {
        const auto expected = std::count_if(logits.begin(), logits.end(), [&](float x) { return x >= bar; });
        QCOMPARE(count_at_least(logits, bar), static_cast<std::int32_t>(expected));
      }
    }
  }
  void nan_and_positive_infinity_are_not_usable() {
    for (std::size_t n : {1, 4, 7, 100}) {
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
        for (std::size_t at = 0; at < n; ++at) {
          std::vector<float> logits(n, 0.0f);
          logits[at] = bad;
          QVERIFY(!best_logit(logits).usable);
        }
      }
    }
  }
  void masked_tokens_are_fine_but_not_all_of_them() {
    std::vector<float> logits(10, -kInfinity);
    QVERIFY(!best_logit(logits).usable);
    logits[9] = -1e30f;
    QVERIFY(best_logit(logits).usable);
    QVERIFY(!best_logit({}).usable);
  }
  void exponentials_are_accurate() {
    for (float x = 0; x > -87; x -= 0.0137f) {
      float out = 0;
      exponentiate(std::span(&x, 1), 0.0f, std::span(&out, 1));
      const double exact = std::exp(static_cast<double>(x));
      QVERIFY2(std::abs(out - exact) <= 4e-7 * exact, qPrintable(QString::number(x)));
    }
  }
  void far_below_and_masked_weigh_nothing() {
    const std::vector<float> logits = {0, -88, -1000, -kInfinity, -std::numeric_limits<float>::max()};
    std::vector<float> weights(logits.size());
    exponentiate(logits, 0, weights);
    QCOMPARE(weights[0], 1.0f);
    for (std::size_t i = 1; i < weights.size(); ++i) QCOMPARE(weights[i], 0.0f);
  }
  void the_log_of_the_sum_is_exact() {
    for (const std::size_t n : {1, 5, 64, 65, 32'000}) {
      const auto logits = random_logits(n, 5.0f);
      double sum = 0;
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
      QVERIFY(std::abs(log_sum_exp(logits, best_logit(logits).value) - std::log(sum)) < 1e-6);
    }
  }
  void large_logits_do_not_overflow() {
    const std::vector<float> logits = {3e38f, 3e38f, -3e38f};
    QVERIFY(std::isfinite(log_sum_exp(logits, best_logit(logits).value)));
  }
  void weights_are_laid_end_to_end() {
    const std::vector<float> weights = {0.5f, 0, 0.25f, 0.25f};
    QCOMPARE(index_at_mass(weights, 0.0), std::size_t{0});
    QCOMPARE(index_at_mass(weights, 0.499), std::size_t{0});
    QCOMPARE(index_at_mass(weights, 0.5), std::size_t{2});
    QCOMPARE(index_at_mass(weights, 0.76), std::size_t{3});
  }
  void rounding_at_the_end_hits_the_last_weight() {
    const std::vector<float> weights = {1.0f, 1.0f, 0, 0};
    QCOMPARE(index_at_mass(weights, 2.0), std::size_t{1});
    QCOMPARE(index_at_mass(weights, 5.0), std::size_t{1});
  }
  void every_block_can_be_hit() {
    std::vector<float> weights(1000, 1.0f);
    for (std::size_t i = 0; i < weights.size(); i += 7) QCOMPARE(index_at_mass(weights, static_cast<double>(i) + 0.5), i);
  }
};

LATHE_TEST(SoftmaxTest)

}  // namespace softmax_test
#include "softmax_test.moc"
