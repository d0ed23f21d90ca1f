// SPDX-License-Identifier: Apache-2.0
// Choosing experts, on numbers that can be counted by hand.
#include <QTest>
#include <cmath>
#include <vector>

#include "kernels/api/router.h"
#include "tests/support/test_class.h"

namespace choose_experts_test {

using namespace lathe::kernels;

namespace {

std::vector<Chosen> choose(const RouterForm& config, std::vector<float> logits, const std::vector<float>& bias = {}) {
  std::vector<Chosen> chosen(static_cast<std::size_t>(config.top_k));
  choose_experts(config, logits, bias, chosen);
  return chosen;
}

bool near(double a, double b) { return std::fabs(a - b) < 1e-6; }

float logit(float probability) { return std::log(probability); }
float inverse_sigmoid(float probability) { return std::log(probability / (1 - probability)); }

}  // namespace

class ChooseExpertsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void softmax_over_all_gives_raw_weights() {
    const auto chosen = choose({.n_experts = 4, .top_k = 2}, {logit(0.1F), logit(0.4F), logit(0.2F), logit(0.3F)});
    QCOMPARE(chosen[0].expert, 1);
    QCOMPARE(chosen[1].expert, 3);
    QVERIFY(near(chosen[0].weight, 0.4) && near(chosen[1].weight, 0.3));
  }

  void normalised_weights_add_up_to_the_scale() {
    const auto chosen = choose({.n_experts = 4, .top_k = 2, .normalises = true, .scale = 2.5},
                               {logit(0.1F), logit(0.4F), logit(0.2F), logit(0.3F)});
    QVERIFY(near(chosen[0].weight, 2.5 * 4 / 7) && near(chosen[1].weight, 2.5 * 3 / 7));
  }

  void softmax_of_the_chosen_sees_no_other() {
    const auto chosen = choose({.n_experts = 3, .top_k = 2, .score = RouterScore::softmax_chosen}, {1, 3, 2});
    QCOMPARE(chosen[0].expert, 1);
    QVERIFY(near(chosen[0].weight, 1 / (1 + std::exp(-1.0))));
    QVERIFY(near(chosen[1].weight, 1 / (1 + std::exp(1.0))));
  }

  /// Near to 10 within 2 %: 10 and 9.9. Near to 9.9, once 10 is taken: itself alone, for 9 is too far.
  void a_sparse_mixer_weighs_each_among_its_near_ones() {
    const RouterForm config{.n_experts = 4, .top_k = 2, .score = RouterScore::sparse_mixer, .jitter = 0.01};
    const auto chosen = choose(config, {9, 10, 9.9F, -3});
    QCOMPARE(chosen[0].expert, 1);
    QCOMPARE(chosen[1].expert, 2);
    QVERIFY(near(chosen[0].weight, 1 / (1 + std::exp(-0.1))));
    QVERIFY(near(chosen[1].weight, 1));
  }

  void of_equal_scores_the_first_is_taken() {
    const auto chosen = choose({.n_experts = 4, .top_k = 3}, {1, 2, 2, 2});
    QCOMPARE(chosen[0].expert, 1);
    QCOMPARE(chosen[1].expert, 2);
    QCOMPARE(chosen[2].expert, 3);
  }

  /// The bias moves the choice, the weight is that of the score without it.
  void a_bias_counts_for_the_choice_alone() {
    const RouterForm config{.n_experts = 3, .top_k = 1, .score = RouterScore::sigmoid};
    const auto chosen = choose(config, {inverse_sigmoid(0.5F), inverse_sigmoid(0.6F), inverse_sigmoid(0.2F)}, {0, 0, 1});
    QCOMPARE(chosen[0].expert, 2);
    QVERIFY(near(chosen[0].weight, 0.2));
  }

  /// Three groups of two: by their best one the first would win, by the sum of two the last does.
  void groups_are_ranked_by_their_best_or_their_best_two() {
    const std::vector<float> logits = {inverse_sigmoid(0.9F), inverse_sigmoid(0.1F), inverse_sigmoid(0.2F),
                                       inverse_sigmoid(0.2F), inverse_sigmoid(0.6F), inverse_sigmoid(0.7F)};
    RouterForm config{.n_experts = 6, .top_k = 2, .score = RouterScore::sigmoid, .n_groups = 3, .topk_groups = 1};
    config.group_score = GroupScore::largest;
    QCOMPARE(choose(config, logits)[0].expert, 0);
    QCOMPARE(choose(config, logits)[1].expert, 1);
    config.group_score = GroupScore::best_two;
    QCOMPARE(choose(config, logits)[0].expert, 5);
    QCOMPARE(choose(config, logits)[1].expert, 4);
  }
};

LATHE_TEST(ChooseExpertsTest)

}  // namespace choose_experts_test
#include "choose_experts_test.moc"
