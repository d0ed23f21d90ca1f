// SPDX-License-Identifier: Apache-2.0
// Tests of the effect of each sampling parameter on a row of logits.
#include <QTest>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "engine/sample/sampler.h"
#include "tests/support/sampling.h"
#include "tests/support/test_class.h"

namespace stages_test {

using namespace lathe::engine;
using lathe::tests::normal_logits;
using lathe::tests::probabilities;
using lathe::tests::SamplingRow;

namespace {

SamplingRow row_of(std::vector<float> logits) {
  SamplingRow row;
  row.logits = std::move(logits);
  return row;
}
/// Every token that comes in many draws.
std::set<std::int32_t> support(SamplingRow row, int n = 3000) {
  std::set<std::int32_t> tokens;
  for (int i = 0; i < n; ++i) {
    row.seed = static_cast<std::uint64_t>(i);
    tokens.insert(row.sample().token);
  }
  return tokens;
}
std::int32_t greedy_token(SamplingRow row) {
  row.params.temperature = 0;
  return row.sample().token;
}

}  // namespace

class StagesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void top_k_keeps_the_k_best() {
    for (const std::int64_t k : {1, 2, 5, 50, 99}) {  // the heap and the selection
      SamplingRow row = row_of(std::vector<float>(100, 0.0f));
      for (std::size_t i = 0; i < 100; ++i) row.logits[(i * 37) % 100] = -0.001f * static_cast<float>(i);
      row.params.top_k = k;
      std::set<std::int32_t> expected;
      for (std::int64_t i = 0; i < k; ++i) expected.insert(static_cast<std::int32_t>((i * 37) % 100));
      QVERIFY(support(row, 4000) == expected);
    }
  }
  void top_k_ties_go_to_the_lower_ids() {
    for (const std::size_t n : {8, 400}) {
      SamplingRow row = row_of(std::vector<float>(n, 1.0f));
      row.params.top_k = 3;
      QVERIFY((support(row) == std::set<std::int32_t>{0, 1, 2}));
    }
  }
  void top_k_beyond_the_vocabulary_is_off() {
    SamplingRow with = row_of(normal_logits(50, 1)), without = with;
    with.params.top_k = 50;
    for (with.seed = without.seed = 0; with.seed < 100; ++with.seed, ++without.seed)
      QCOMPARE(with.sample().token, without.sample().token);
  }
  void top_k_minus_one_is_off() {
    SamplingRow row = row_of(std::vector<float>(5, 0.0f));
    row.params.top_k = -1;
    QCOMPARE(support(row).size(), std::size_t{5});
  }
  void top_p_keeps_tokens_until_the_mass_is_reached() {
    SamplingRow row = row_of({std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)});
    row.params.top_p = 0.75;
    QVERIFY((support(row) == std::set<std::int32_t>{0, 1}));
    row.params.top_p = 0.85;
    QVERIFY((support(row) == std::set<std::int32_t>{0, 1, 2}));
  }
  void top_p_always_keeps_the_best() {
    SamplingRow row = row_of(normal_logits(1000, 0.1f));
    row.params.top_p = 1e-6;
    QCOMPARE(support(row, 200).size(), std::size_t{1});
  }
  void top_p_agrees_with_a_full_sort() {
    for (unsigned seed = 0; seed < 20; ++seed) {
      SamplingRow row = row_of(normal_logits(500, 0.2f + 0.3f * static_cast<float>(seed % 7), seed));
      row.params.top_p = 0.05 + 0.045 * seed;
      const auto p = probabilities(row.logits);
      std::vector<std::int32_t> order(500);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return row.logits[a] > row.logits[b]; });
      std::set<std::int32_t> allowed;
      double before = 0;
      for (const std::int32_t id : order) {
        if (before >= row.params.top_p + 1e-6) break;
        allowed.insert(id);
        before += p[static_cast<std::size_t>(id)];
      }
      for (const std::int32_t token : support(row, 1000)) QVERIFY(allowed.contains(token));
    }
  }
  void top_p_of_equals_keeps_the_lower_ids() {
    SamplingRow row = row_of(std::vector<float>(10, 0.0f));
    row.params.top_p = 0.35;
    QVERIFY((support(row) == std::set<std::int32_t>{0, 1, 2, 3}));
  }
  void top_p_counts_the_mass_that_top_k_left() {
    SamplingRow row = row_of({std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)});
    row.params.top_k = 2;
    row.params.top_p = 0.55;  // of 0.7: the first alone holds 0.571
    QVERIFY((support(row) == std::set<std::int32_t>{0}));
  }
  void min_p_drops_what_is_far_below_the_best() {
    SamplingRow row = row_of({std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)});
    row.params.min_p = 0.31;  // of 0.5: 0.155
    QVERIFY((support(row) == std::set<std::int32_t>{0, 1}));
  }
  void min_p_looks_at_the_distribution_after_temperature() {
    SamplingRow row = row_of({std::log(0.5f), std::log(0.3f)});
    row.params.min_p = 0.7;
    QVERIFY((support(row) == std::set<std::int32_t>{0}));
    row.params.temperature = 2.0;  // sqrt(0.6) = 0.77
    QVERIFY((support(row) == std::set<std::int32_t>{0, 1}));
  }
  void min_p_one_keeps_the_best_alone() {
    SamplingRow row = row_of(normal_logits(100, 1));
    row.params.min_p = 1.0;
    QVERIFY((support(row, 200) == std::set<std::int32_t>{greedy_token(row)}));
  }
  void temperature_flattens_and_sharpens() {
    SamplingRow row = row_of({1.0f, 0.0f});
    const auto share = [&](double temperature) {
      row.params.temperature = temperature;
      return row.histogram(20'000)[0] / 20'000.0;
    };
    QVERIFY(std::abs(share(1.0) - 1 / (1 + std::exp(-1.0))) < 0.012);
    QVERIFY(std::abs(share(0.5) - 1 / (1 + std::exp(-2.0))) < 0.012);
    QVERIFY(std::abs(share(4.0) - 1 / (1 + std::exp(-0.25))) < 0.012);
  }
  void tiny_temperatures_do_not_overflow() {
    SamplingRow row = row_of({1e30f, -1e30f, 3e30f});
    row.params.temperature = 1e-4;
    QCOMPARE(row.sample().token, 2);
    QVERIFY(!row.sample().failed);
  }
  void presence_penalty_counts_once() {
    SamplingRow row = row_of({1.0f, 0.5f});
    row.output = {0, 0, 0, 0};
    row.params.presence_penalty = 0.4;
    QCOMPARE(greedy_token(row), 0);
    row.params.presence_penalty = 0.6;
    QCOMPARE(greedy_token(row), 1);
  }
  void frequency_penalty_counts_each_time() {
    SamplingRow row = row_of({1.0f, 0.5f});
    row.params.frequency_penalty = 0.2;
    row.output = {0, 0};
    QCOMPARE(greedy_token(row), 0);
    row.output = {0, 0, 0};
    QCOMPARE(greedy_token(row), 1);
  }
  void presence_and_frequency_leave_the_prompt_alone() {
    SamplingRow row = row_of({1.0f, 0.5f});
    row.prompt = {0, 0, 0, 0};
    row.params.presence_penalty = 2;
    row.params.frequency_penalty = 2;
    QCOMPARE(greedy_token(row), 0);
  }
  void negative_penalties_favour_what_was_said() {
    SamplingRow row = row_of({1.0f, 0.5f});
    row.output = {1};
    row.params.presence_penalty = -1;
    QCOMPARE(greedy_token(row), 1);
  }
  void repetition_penalty_divides_positive_and_multiplies_negative_logits() {
    SamplingRow row = row_of({2.0f, 1.5f, -1.0f});
    row.output = {0};
    row.params.repetition_penalty = 1.5;
    QCOMPARE(greedy_token(row), 1);
    row = row_of({-1.0f, -1.2f});
    row.output = {0};
    row.params.repetition_penalty = 1.5;
    QCOMPARE(greedy_token(row), 1);
  }
  void repetition_penalty_counts_the_prompt_and_each_token_once() {
    SamplingRow row = row_of({2.0f, 1.1f});
    row.prompt = {0, 0};
    row.output = {0, 0};
    row.params.repetition_penalty = 1.5;  // 2 / 1.5 = 1.33; were it taken twice, 0.89
    QCOMPARE(greedy_token(row), 0);
    row.params.repetition_penalty = 2.0;
    QCOMPARE(greedy_token(row), 1);
  }
  void suppressed_tokens_never_come() {
    SamplingRow row = row_of({9, 5, 8, 1});
    row.suppressed = {0, 2, 77, -1};  // ids beyond the vocabulary mean nothing
    QCOMPARE(greedy_token(row), 1);
    QVERIFY((support(row) == std::set<std::int32_t>{1, 3}));
    row.params.logit_bias = {{0, 100.0F}};  // a request does not bring them back
    QCOMPARE(greedy_token(row), 1);
    row.suppressed = {0, 1, 2, 3};
    QVERIFY(row.sample().failed);
  }
  void logit_bias_is_added() {
    SamplingRow row = row_of({1.0f, 0.0f, 0.0f});
    row.params.logit_bias = {{2, 1.5f}};
    QCOMPARE(greedy_token(row), 2);
    row.params.logit_bias = {{0, -100.0f}, {1, -100.0f}};
    QCOMPARE(greedy_token(row), 2);
  }
  void logit_bias_comes_before_the_repetition_penalty() {
    SamplingRow row = row_of({-1.0f, 1.2f});
    row.params.logit_bias = {{0, 3.0f}};  // 2 after the bias: divided by 2, not multiplied before it
    row.params.repetition_penalty = 2.0;
    row.output = {0};
    QCOMPARE(greedy_token(row), 1);
  }
  void min_tokens_masks_what_would_end_the_answer() {
    SamplingRow row = row_of({0.0f, 1.0f, 9.0f, 8.0f});
    row.eos = {2};
    row.params.stop_token_ids = {3};
    row.params.min_tokens = 2;
    QCOMPARE(greedy_token(row), 1);
    row.output = {1};
    QCOMPARE(greedy_token(row), 1);
    row.output = {1, 1};
    QCOMPARE(greedy_token(row), 2);
  }
  void min_tokens_with_nothing_left_fails() {
    SamplingRow row = row_of({0.0f, 1.0f});
    row.eos = {0, 1};
    row.params.min_tokens = 1;
    QVERIFY(row.sample().failed);
  }
  void ids_outside_the_row_are_passed_over() {
    SamplingRow row = row_of({0.0f, 1.0f});
    row.prompt = {5, -1};
    row.output = {7};
    row.eos = {9};
    row.params.min_tokens = 4;
    row.params.repetition_penalty = 1.2;
    row.params.presence_penalty = 1;
    row.params.logit_bias = {{12, 1.0f}};
    QCOMPARE(greedy_token(row), 1);
  }
  void each_parameter_changes_the_output() {
    const auto answer = [](auto change) {
      SamplingRow row = row_of(normal_logits(200, 2));
      row.prompt = {1, 2, 3};
      row.eos = {4};
      row.logits[4] = 6;
      change(row.params, row.seed);
      for (int i = 0; i < 60; ++i) row.output.push_back(row.sample().token);
      return row.output;
    };
    const auto plain = answer([](SamplingParams&, std::uint64_t&) {});
    QVERIFY(plain == answer([](SamplingParams&, std::uint64_t&) {}));
    QVERIFY(plain != answer([](SamplingParams& p, std::uint64_t&) { p.temperature = 0.5; }));
    QVERIFY(plain != answer([](SamplingParams& p, std::uint64_t&) { p.top_k = 5; }));
    QVERIFY(plain != answer([](SamplingParams& p, std::uint64_t&) { p.top_p = 0.5; }));
    QVERIFY(plain != answer([](SamplingParams& p, std::uint64_t&) { p.min_p = 0.3; }));
    QVERIFY(plain != answer([](SamplingParams& p, std::uint64_t&) { p.presence_penalty = 1.5; }));
    QVERIFY(plain != answer([](SamplingParams& p, std::uint64_t&) { p.frequency_penalty = 1.5; }));
    QVERIFY(plain != answer([](SamplingParams& p, std::uint64_t&) { p.repetition_penalty = 1.5; }));
    QVERIFY(plain != answer([](SamplingParams& p, std::uint64_t&) { p.logit_bias = {{9, 8.0f}}; }));
    QVERIFY(plain != answer([](SamplingParams& p, std::uint64_t&) { p.min_tokens = 60; }));
    QVERIFY(plain != answer([](SamplingParams&, std::uint64_t& seed) { seed = 2; }));
  }
};

LATHE_TEST(StagesTest)

}  // namespace stages_test
#include "stages_test.moc"
