// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/sampler.h"

#include <QTest>
#include <cmath>
#include <limits>
#include <set>

#include "engine/sample/stage.h"
#include "tests/support/sampling.h"
#include "tests/support/test_class.h"

namespace sampler_test {

using namespace lathe::engine;
using lathe::tests::normal_logits;
using lathe::tests::probabilities;
using lathe::tests::SamplingRow;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

SamplingRow row_of(std::vector<float> logits) {
  SamplingRow row;
  row.logits = std::move(logits);
  return row;
}
SamplingRow greedy(std::vector<float> logits) {
  SamplingRow row = row_of(std::move(logits));
  row.params.temperature = 0;
  return row;
}

}  // namespace

class SamplerTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void stages_run_in_the_order_of_vllm() {
    std::vector<std::string_view> names;
    for (const SampleStage* stage : sample_stages()) names.push_back(stage->name);
    const std::vector<std::string_view> order = {"structured_outputs",
                                                 "suppress_tokens",
                                                 "min_tokens",
                                                 "logit_bias",
                                                 "repetition_penalty",
                                                 "presence_penalty, frequency_penalty",
                                                 "temperature",
                                                 "min_p",
                                                 "top_k",
                                                 "top_p"};
    QVERIFY(names == order);
  }
  void stages_that_move_the_best_token_come_before_those_that_move_chances() {
    bool seen_candidates = false;
    for (const SampleStage* stage : sample_stages()) {
      QVERIFY(!(seen_candidates && stage->phase == StagePhase::logits));
      seen_candidates = seen_candidates || stage->phase == StagePhase::candidates;
    }
  }
  void greedy_takes_the_best() { QCOMPARE(greedy({1, 5, 2}).sample().token, 1); }
  void greedy_ties_go_to_the_lower_id() { QCOMPARE(greedy({1, 5, 2, 5}).sample().token, 1); }
  void only_plain_greedy_sampling_takes_the_best_token() {
    SamplingParams plain;
    plain.temperature = 0;
    QVERIFY(takes_best(plain));
    plain.top_k = 3;  // stages that move chances alone are not run
    plain.top_p = 0.5;
    plain.min_p = 0.2;
    plain.prompt_logprobs = 1;
    QVERIFY(takes_best(plain));
    const auto still_takes_best = [&](const auto& change) {
      SamplingParams params = plain;
      change(params);
      return takes_best(params);
    };
    QVERIFY(!still_takes_best([](SamplingParams& params) { params.temperature = 0.5; }));
    QVERIFY(!still_takes_best([](SamplingParams& params) { params.logprobs = 0; }));
    QVERIFY(!still_takes_best([](SamplingParams& params) { params.min_tokens = 1; }));
    QVERIFY(!still_takes_best([](SamplingParams& params) { params.logit_bias = {{3, 1.0F}}; }));
    QVERIFY(!still_takes_best([](SamplingParams& params) { params.repetition_penalty = 1.1; }));
    QVERIFY(!still_takes_best([](SamplingParams& params) { params.presence_penalty = 0.1; }));
    QVERIFY(!still_takes_best([](SamplingParams& params) { params.frequency_penalty = 0.1; }));
  }
  void greedy_does_not_look_at_the_seed() {
    SamplingRow row = greedy(normal_logits(100, 1));
    const std::int32_t token = row.sample().token;
    for (row.seed = 0; row.seed < 20; ++row.seed) QCOMPARE(row.sample().token, token);
  }
  void a_temperature_below_a_hundred_thousandth_is_greedy() {
    SamplingRow row = row_of({1.0f, 1.0001f});
    row.params.temperature = 1e-6;
    for (row.seed = 0; row.seed < 50; ++row.seed) QCOMPARE(row.sample().token, 1);
  }
  void E8_nan_fails_and_nothing_else() {
    for (const double temperature : {0.0, 1.0}) {
      SamplingRow row = row_of(normal_logits(50, 1));
      row.params.temperature = temperature;
      const std::int32_t before = row.sample().token;
      const std::vector<float> good = row.logits;
      row.logits[17] = std::numeric_limits<float>::quiet_NaN();
      QVERIFY(row.sample().failed);
      row.logits = good;
      QVERIFY(!row.sample().failed);
      QCOMPARE(row.sample().token, before);
    }
  }
  void E8_infinities_and_no_mass_fail() {
    QVERIFY(row_of({0, kInfinity}).sample().failed);
    QVERIFY(row_of({-kInfinity, -kInfinity}).sample().failed);
    QVERIFY(greedy({-kInfinity, -kInfinity}).sample().failed);
    QVERIFY(!row_of({-kInfinity, 0}).sample().failed);
  }
  void E8_nan_fails_with_logprobs_too() {
    SamplingRow row = row_of({0, std::numeric_limits<float>::quiet_NaN()});
    row.params.logprobs = 1;
    LogprobList alternatives;
    QVERIFY(row.sample(&alternatives).failed);
  }
  void the_same_seed_gives_the_same_tokens() {
    SamplingRow a = row_of(normal_logits(1000, 2)), b = row_of(normal_logits(1000, 2));
    for (int i = 0; i < 200; ++i) {
      a.output.push_back(a.sample().token);
      b.output.push_back(b.sample().token);
    }
    QVERIFY(a.output == b.output);
  }
  void the_draw_does_not_depend_on_what_was_sampled_between() {
    SamplingRow row = row_of(normal_logits(500, 2)), other = row_of(normal_logits(5000, 2, 9));
    const std::int32_t alone = row.sample().token;
    other.scratch = std::move(row.scratch);
    for (int i = 0; i < 5; ++i) other.sample();
    row.scratch = std::move(other.scratch);
    QCOMPARE(row.sample().token, alone);
  }
  void each_place_of_the_answer_draws_anew() {
    SamplingRow row = row_of(std::vector<float>(1000, 0.0f));
    std::set<std::int32_t> tokens;
    for (int i = 0; i < 50; ++i) {
      tokens.insert(row.sample().token);
      row.output.push_back(0);
    }
    QVERIFY(tokens.size() > 40);
  }
  void different_seeds_give_different_tokens() {
    SamplingRow row = row_of(std::vector<float>(1000, 0.0f));
    std::set<std::int32_t> tokens;
    for (row.seed = 0; row.seed < 50; ++row.seed) tokens.insert(row.sample().token);
    QVERIFY(tokens.size() > 40);
  }
  void logprobs_are_those_of_the_raw_distribution() {
    SamplingRow row = row_of(normal_logits(300, 3));
    row.params.logprobs = 5;
    row.params.temperature = 0.3;
    row.params.top_k = 2;
    row.params.logit_bias = {{4, 5.0f}};
    const auto p = probabilities(row.logits);
    LogprobList alternatives;
    const SampleOutput output = row.sample(&alternatives);
    QVERIFY(std::abs(output.logprob - std::log(p[static_cast<std::size_t>(output.token)])) < 1e-5);
    QCOMPARE(alternatives.size(), std::size_t{5});
    for (const TokenLogprob& entry : alternatives)
      QVERIFY(std::abs(entry.logprob - std::log(p[static_cast<std::size_t>(entry.id)])) < 1e-5);
  }
  void alternatives_are_best_first() {
    SamplingRow row = greedy({1, 4, 3, 4, 2});
    row.params.logprobs = 4;
    LogprobList alternatives;
    row.sample(&alternatives);
    std::vector<std::int32_t> ids;
    for (const TokenLogprob& entry : alternatives) ids.push_back(entry.id);
    QVERIFY((ids == std::vector<std::int32_t>{1, 3, 2, 4}));
  }
  void zero_alternatives_still_give_the_chosen_logprob() {
    SamplingRow row = greedy({0, 0});
    row.params.logprobs = 0;
    LogprobList alternatives = {{9, 9.0f}};
    QVERIFY(std::abs(row.sample(&alternatives).logprob - std::log(0.5)) < 1e-6);
    QVERIFY(alternatives.empty());
  }
  void prompt_logprobs_put_the_actual_token_first() {
    const std::vector<float> logits = {2, 1, 0};
    const auto p = probabilities(logits);
    SamplerScratch scratch;
    LogprobList list;
    prompt_logprobs(logits, 2, 2, scratch, list);
    QCOMPARE(list.size(), std::size_t{3});
    QCOMPARE(list[0].id, 2);
    QVERIFY(std::abs(list[0].logprob - std::log(p[2])) < 1e-6);
    QCOMPARE(list[1].id, 0);
    QCOMPARE(list[2].id, 1);
    prompt_logprobs(logits, 1, 0, scratch, list);
    QCOMPARE(list.size(), std::size_t{1});
  }
  /// How many tokens are as likely or more, equals with one rank, also where the k best cut through them.
  void ranks_count_from_the_likeliest() {
    const std::vector<float> logits = {1, 3, 3, 2, 2, 2, -std::numeric_limits<float>::infinity()};
    const auto rank_of = [](const TokenLogprob& entry) {
      return entry.id == 1 || entry.id == 2 ? 2 : entry.id == 0 ? 6 : 5;
    };
    SamplerScratch scratch;
    for (std::int64_t k = 0; k <= 7; ++k) {
      for (const std::int32_t actual : {0, 1, 2, 4, 5}) {
        LogprobList list;
        QVERIFY(prompt_logprobs(logits, actual, k, scratch, list));
        for (const TokenLogprob& entry : list) QCOMPARE(entry.rank, rank_of(entry));
        QCOMPARE(list.front().id, actual);
      }
    }
    LogprobList last;
    QVERIFY(prompt_logprobs(logits, 6, 0, scratch, last));
    QCOMPARE(last.front().rank, 7);
  }
  void a_sampled_token_has_the_rank_of_the_raw_distribution() {
    SamplingRow row = row_of(normal_logits(301, 5));
    row.params.logprobs = 3;
    row.params.temperature = 5.0;
    row.params.logit_bias = {{7, 20.0f}};
    const std::vector<float> raw = row.logits;
    LogprobList alternatives;
    const SampleOutput output = row.sample(&alternatives);
    const float own = raw[static_cast<std::size_t>(output.token)];
    QCOMPARE(output.rank,
             static_cast<std::int32_t>(std::count_if(raw.begin(), raw.end(), [&](float x) { return x >= own; })));
    for (std::int32_t i = 0; i < 3; ++i) QCOMPARE(alternatives[static_cast<std::size_t>(i)].rank, i + 1);
    row.params.logprobs.reset();
    QCOMPARE(row.sample().rank, 0);  // nobody asked
  }
  void E8_prompt_logprobs_without_probabilities_are_none() {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    SamplerScratch scratch;
    for (const std::vector<float>& logits : {std::vector<float>{2, nan, 0}, {inf, 1, 0}, {-inf, -inf, -inf}}) {
      LogprobList list = {{1, 0.0F}};
      QVERIFY(!prompt_logprobs(logits, 0, 2, scratch, list));
      QVERIFY(list.empty());
    }
    LogprobList list;
    QVERIFY(prompt_logprobs(std::vector<float>{2, -inf, 0}, 1, 0, scratch, list));
    QCOMPARE(list[0].logprob, -inf);
  }
  void top_logprobs_reads_and_does_not_change() {
    const std::vector<float> logits = normal_logits(100, 1);
    std::vector<float> copy = logits;
    SamplerScratch scratch;
    LogprobList list;
    top_logprobs(copy, 20, scratch, list);
    QVERIFY(copy == logits);
    QCOMPARE(list.size(), std::size_t{20});
  }
  void scratch_stays_clean_for_the_next_row() {
    SamplingRow row = row_of(normal_logits(100, 1));
    row.params.presence_penalty = 1;
    row.params.repetition_penalty = 1.5;
    row.prompt = {1, 2, 3};
    row.output = {3, 3, 4};
    row.sample();
    for (const std::int32_t count : row.scratch.counts) QCOMPARE(count, 0);
  }
};

LATHE_TEST(SamplerTest)

}  // namespace sampler_test
#include "sampler_test.moc"
