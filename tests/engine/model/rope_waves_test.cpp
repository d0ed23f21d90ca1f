// SPDX-License-Identifier: Apache-2.0
// The scalings of RoPE beside linear and llama3 (rope_table_test.cpp), against figures of released models.
#include <QTest>
#include <cmath>

#include "engine/model/rope_config.h"
#include "tests/support/test_class.h"

namespace rope_waves_test {

using namespace lathe::engine;

namespace {

bool near(double a, double b, double tolerance) { return std::fabs(a - b) <= tolerance * std::fabs(b); }

RopeConfig yarn(double factor) {
  RopeConfig rope{.theta = 10000, .rotary_dim = 64, .scaling = RopeScaling::yarn, .factor = factor};
  rope.original_max_position_embeddings = 4096;
  return rope;
}

}  // namespace

class RopeWavesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// gpt-oss says 1.34657 of factor 32; DeepSeek-V3 has both mscales, and they cancel.
  void yarn_scales_the_scores() {
    QVERIFY(near(rope_waves(yarn(32), 4096).attention_factor, 1.34657, 1e-5));
    RopeConfig deepseek = yarn(40);
    deepseek.mscale = deepseek.mscale_all_dim = 1;
    QCOMPARE(rope_waves(deepseek, 4096).attention_factor, 1.0);
    RopeConfig given = yarn(40);
    given.attention_factor = 1.25;
    QCOMPARE(rope_waves(given, 4096).attention_factor, 1.25);
    QCOMPARE(rope_waves(yarn(1), 4096).attention_factor, 1.0);
  }

  void yarn_keeps_short_waves_and_stretches_long_ones() {
    RopeConfig plain = yarn(1);
    plain.scaling = RopeScaling::none;
    const auto scaled = rope_waves(yarn(8), 4096).frequencies, before = rope_waves(plain, 4096).frequencies;
    QCOMPARE(scaled.front(), before.front());
    QVERIFY(near(scaled.back(), before.back() / 8, 1e-12));
    for (std::size_t i = 1; i < scaled.size(); ++i) QVERIFY(scaled[i] / before[i] <= scaled[i - 1] / before[i - 1]);
  }

  /// A longer context than the model was made for makes theta grow: factor * L / old - (factor - 1), to the power d / (d -
  /// 2).
  void dynamic_scaling_follows_the_longest_context() {
    RopeConfig rope{.theta = 10000, .rotary_dim = 8, .scaling = RopeScaling::dynamic, .factor = 2};
    rope.original_max_position_embeddings = 100;
    QVERIFY(near(rope_waves(rope, 80).frequencies[1], std::pow(10000, -0.25), 1e-12));
    QVERIFY(near(rope_waves(rope, 100).frequencies[1], std::pow(10000, -0.25), 1e-12));
    const double theta = 10000 * std::pow(2 * 4.0 - 1, 8.0 / 6);
    QVERIFY(near(rope_waves(rope, 400).frequencies[1], std::pow(theta, -0.25), 1e-12));
  }

  /// Exponents are those of the whole head; the pairs behind the rotated ones do not turn.
  void proportional_rotates_the_first_pairs() {
    const RopeConfig rope{
        .theta = 1e6, .rotary_dim = 16, .scaling = RopeScaling::proportional, .factor = 2, .n_rotated_pairs = 3};
    const auto frequencies = rope_waves(rope, 100).frequencies;
    QCOMPARE(frequencies.size(), std::size_t{8});
    QVERIFY(near(frequencies[2], std::pow(1e6, -4.0 / 16) / 2, 1e-12));
    for (std::size_t i = 3; i < frequencies.size(); ++i) QCOMPARE(frequencies[i], 0.0);
    QCOMPARE(describe_scaling(rope), std::string("proportional x2"));
    QCOMPARE(describe_scaling({.scaling = RopeScaling::proportional}), std::string("proportional"));
  }

  /// Phi-3.5-mini: 131072 positions from 4096 give sqrt(1 + ln 32 / ln 4096) = 1.190238.
  void longrope_may_have_a_factor_for_each_list() {
    const RopeConfig rope{.rotary_dim = 4,
                          .scaling = RopeScaling::longrope,
                          .factor = 32,
                          .original_max_position_embeddings = 4096,
                          .short_factor = {1, 1},
                          .long_factor = {2, 2},
                          .short_attention_factor = 1.25,
                          .long_attention_factor = 1.5};
    QCOMPARE(rope_waves(rope, 4096).attention_factor, 1.25);
    QCOMPARE(rope_waves(rope, 4097).attention_factor, 1.5);
  }

  void sequences_choose_by_what_they_may_reach() {
    using Contexts = std::vector<std::int64_t>;
    const RopeConfig plain{.rotary_dim = 8};
    RopeConfig longrope{.rotary_dim = 8, .scaling = RopeScaling::longrope, .original_max_position_embeddings = 4096};
    RopeConfig dynamic{.rotary_dim = 8, .scaling = RopeScaling::dynamic, .original_max_position_embeddings = 1000};
    QCOMPARE(rope_contexts({}, 5000), Contexts({5000}));
    QCOMPARE(rope_contexts(std::vector{plain}, 5000), Contexts({5000}));
    QCOMPARE(rope_contexts(std::vector{longrope}, 4096), Contexts({4096}));
    QCOMPARE(rope_contexts(std::vector{longrope}, 131072), Contexts({4096, 131072}));
    QCOMPARE(rope_contexts(std::vector{dynamic}, 900), Contexts({900}));
    QCOMPARE(rope_contexts(std::vector{dynamic}, 5000), Contexts({1000, 2000, 4000, 5000}));
    QCOMPARE(rope_contexts(std::vector{longrope, longrope, plain}, 5000), Contexts({4096, 5000}));
    const Contexts contexts = {1000, 2000, 5000};
    QCOMPARE(rope_choice(contexts, 1), 0);
    QCOMPARE(rope_choice(contexts, 1000), 0);
    QCOMPARE(rope_choice(contexts, 1001), 1);
    QCOMPARE(rope_choice(contexts, 5000), 2);
    QCOMPARE(rope_choice(contexts, 9999), 2);
    QCOMPARE(rope_choice({}, 1), 0);
  }

  /// Llama 4 Scout: no frequency lies between equal bounds.
  void llama3_may_have_equal_bounds() {
    const RopeConfig rope{.theta = 5e5,
                          .rotary_dim = 128,
                          .scaling = RopeScaling::llama3,
                          .factor = 16,
                          .low_freq_factor = 1,
                          .high_freq_factor = 1,
                          .original_max_position_embeddings = 8192};
    RopeConfig plain = rope;
    plain.scaling = RopeScaling::none;
    const RopeWaves scaled = rope_waves(rope, 100), unscaled = rope_waves(plain, 100);
    for (std::size_t i = 0; i < scaled.frequencies.size(); ++i) {
      const bool is_high = unscaled.frequencies[i] * 8192 > 2 * M_PI;
      QCOMPARE(scaled.frequencies[i], is_high ? unscaled.frequencies[i] : unscaled.frequencies[i] / 16);
    }
  }

  void longrope_takes_the_list_of_the_context() {
    RopeConfig rope{.theta = 10000, .rotary_dim = 4, .scaling = RopeScaling::longrope, .factor = 32};
    rope.original_max_position_embeddings = 4096;
    rope.short_factor = {1, 2};
    rope.long_factor = {4, 8};
    QCOMPARE(rope_waves(rope, 4096).frequencies, (std::vector<double>{1, 0.01 / 2}));
    QCOMPARE(rope_waves(rope, 4097).frequencies, (std::vector<double>{0.25, 0.01 / 8}));
    QVERIFY(near(rope_waves(rope, 4096).attention_factor, 1.190238, 1e-6));
    rope.factor = 1;
    QCOMPARE(rope_waves(rope, 4096).attention_factor, 1.0);
  }
};

LATHE_TEST(RopeWavesTest)

}  // namespace rope_waves_test
#include "rope_waves_test.moc"
