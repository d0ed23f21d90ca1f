// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts as operations: the reference has them, processors leave them to the caller.
#include <algorithm>
#include <cmath>

#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace mixture_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr std::int64_t kHidden = 24, kInner = 10, kRows = 4;
constexpr std::size_t kExperts = 3;

Chosen* chosen_of(const TensorView& view, std::int64_t row) { return reinterpret_cast<Chosen*>(view.row<float>(row)); }

/// Experts with random weights.
struct Experts {
  explicit Experts(Backend& backend) {
    RandomNumbers numbers(5);
    for (std::size_t i = 0; i < 3 * kExperts; ++i) {
      const bool is_down = i % 3 == 2;
      const RandomTensor weights(Dtype::f32, {is_down ? kHidden : kInner, is_down ? kInner : kHidden}, numbers);
      matrices.push_back(packed(backend, WeightFormat::f32, weights.view()));
    }
    for (std::size_t e = 0; e < kExperts; ++e)
      mlps.push_back({.gate = matrices[3 * e].get(), .up = *matrices[3 * e + 1], .down = *matrices[3 * e + 2]});
  }
  std::vector<std::unique_ptr<PackedMatrix>> matrices;
  std::vector<MlpWeights> mlps;
};

}  // namespace

class MixtureTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void processors_leave_mixtures_to_the_caller() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    const Experts experts(*backend);
    QVERIFY(backend->make_experts(experts.mlps, 2) == nullptr);
  }

  void a_mixture_is_one_expert_after_another() {
    const auto backend = make_reference_backend();
    const Experts experts(*backend);
    const auto whole = backend->make_experts(experts.mlps, 2);
    QVERIFY(whole != nullptr);
    RandomNumbers numbers(7);
    const RandomTensor x(Dtype::f32, {kRows, kHidden}, numbers), chosen({kRows, 4});
    for (std::int32_t row = 0; row < kRows; ++row) {  // by descending expert: the order of the sum is another one
      chosen_of(chosen.view(), row)[0] = {2, 0.75F};
      chosen_of(chosen.view(), row)[1] = {row % 2, 0.5F};
    }
    const RandomTensor got({kRows, kHidden}), want({kRows, kHidden}), part({kRows, kHidden});
    backend->mix_experts(got.view(), x.view(), chosen.view(), *whole);
    for (const std::int32_t expert : {0, 1, 2}) {
      std::vector<std::int32_t> rows;
      for (std::int32_t row = 0; row < kRows; ++row)
        if (expert == 2 || row % 2 == expert) rows.push_back(row);
      const std::vector<float> factors(rows.size(), expert == 2 ? 0.75F : 0.5F);
      const RandomTensor in({std::ssize(rows), kHidden}), out({std::ssize(rows), kHidden});
      backend->gather_rows(in.view(), x.view(), rows);
      backend->mlp(out.view(), {.x = in.view()}, experts.mlps[static_cast<std::size_t>(expert)]);
      backend->add_rows(want.view(), rows, out.view(), factors);
    }
    QVERIFY(same_bits(got.view(), want.view()));
    QVERIFY(got.view().row<float>(0)[0] != 0);
  }

  void a_route_is_that_of_each_row() {
    const auto backend = make_reference_backend();
    const RouterForm form{.n_experts = 3, .top_k = 2, .score = RouterScore::sigmoid};
    RandomNumbers numbers(9);
    const RandomTensor logits(Dtype::f32, {kRows, 3}, numbers, 2), bias(Dtype::f32, {3}, numbers), chosen({kRows, 4});
    const RandomTensor kept = logits.copy();
    backend->route(chosen.view(), logits.view(), form, bias.view());
    for (std::int64_t row = 0; row < kRows; ++row) {
      Chosen want[2];
      choose_experts(form, {kept.view().row<float>(row), 3}, {bias.view().as<const float>(), 3}, want);
      for (int i = 0; i < 2; ++i) {
        QCOMPARE(chosen_of(chosen.view(), row)[i].expert, want[i].expert);
        QCOMPARE(chosen_of(chosen.view(), row)[i].weight, want[i].weight);
      }
    }
  }

  void a_gate_scales_its_row() {
    const auto backend = make_reference_backend();
    const RandomTensor x({2, 3}), gate({2, 1});
    backend->fill(x.view(), 4);
    gate.view().row<float>(1)[0] = std::log(3.0F);
    backend->scale_by_sigmoid(x.view(), gate.view());
    QCOMPARE(x.view().row<float>(0)[2], 2.0F);
    QCOMPARE(x.view().row<float>(1)[0], 3.0F);
  }

  void gates_of_heads_and_of_columns_scale_theirs_data() { add_isa_rows(); }
  void gates_of_heads_and_of_columns_scale_theirs() {
    const auto backend = backend_of_row();
    const auto reference = make_reference_backend();
    RandomNumbers numbers(11);
    for (const std::int64_t n_gates : {std::int64_t{1}, std::int64_t{3}, std::int64_t{7}, std::int64_t{105}}) {
      const RandomTensor x(Dtype::f32, {5, 105}, numbers), gate(Dtype::f32, {5, n_gates}, numbers, 4);
      const RandomTensor want = x.copy();
      reference->scale_by_sigmoid(want.view(), gate.view());
      backend->scale_by_sigmoid(x.view(), gate.view());
      for (std::int64_t row = 0; row < 5; ++row) {
        for (std::int64_t i = 0; i < 105; ++i) {
          const double error = std::fabs(x.view().row<float>(row)[i] - want.view().row<float>(row)[i]);
          QVERIFY(error <= 1e-6 * std::max(1.0, std::fabs(static_cast<double>(want.view().row<float>(row)[i]))));
        }
      }
    }
  }
};

LATHE_TEST(MixtureTest)

}  // namespace mixture_test
#include "mixture_test.moc"
