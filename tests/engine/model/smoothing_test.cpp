// SPDX-License-Identifier: Apache-2.0
#include "engine/model/decoder/smoothing.h"

#include <QTest>
#include <cmath>
#include <vector>

#include "kernels/selftest/random_tensor.h"
#include "tests/support/test_class.h"

namespace smoothing_test {

using namespace lathe;
using engine::WeightRole;
using kernels::Dtype;
using kernels::TensorView;

namespace {

engine::Smoothing smoothing_of(std::vector<float> attention, std::vector<float> mlp) {
  return {.layers = {{}, {.attention = std::move(attention), .mlp = std::move(mlp)}}};
}

}  // namespace

class SmoothingTest : public QObject {
  Q_OBJECT

  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend({.n_threads = 3});

 private Q_SLOTS:
  void factors_by_hand() {
    const std::vector<float> x = {16, 4, 0.25F}, weight = {1, 0.25F, 4};
    QCOMPARE(engine::smoothing_factors(x, weight, 0.5), (std::vector<float>{4, 4, 0.25F}));
    QCOMPARE(engine::smoothing_factors(x, weight, 1), x);
    QCOMPARE(engine::smoothing_factors(x, weight, 0), (std::vector<float>{1, 4, 0.25F}));
    QCOMPARE(engine::smoothing_factors(std::vector<float>{256}, std::vector<float>{0.0625F}, 0.75)[0], 128.0F);
  }

  /// The authors' code keeps both maxima and the factor at 1e-5 or more.
  void nothing_is_divided_by_zero() {
    const std::vector<float> dead = {0}, alive = {1e9F};
    QCOMPARE(engine::smoothing_factors(dead, alive, 0.5)[0], 1e-5F);  // sqrt(1e-5 / 1e9) is less
    QCOMPARE(engine::smoothing_factors(alive, dead, 0.5)[0], 1e7F);
    QCOMPARE(engine::smoothing_factors(dead, dead, 0.5)[0], 1.0F);
  }

  void what_shares_an_input_shares_factors() {
    const engine::Smoothing smoothing = smoothing_of({1, 2}, {3, 4});
    for (const WeightRole role : {WeightRole::attention_norm, WeightRole::q, WeightRole::k, WeightRole::v}) {
      QCOMPARE(smoothing.factors_of(role, 1)[1], 2.0F);
    }
    for (const WeightRole role : {WeightRole::mlp_norm, WeightRole::gate, WeightRole::up}) {
      QCOMPARE(smoothing.factors_of(role, 1)[0], 3.0F);
    }
    for (const WeightRole role : {WeightRole::o, WeightRole::down, WeightRole::q_bias, WeightRole::gate_bias}) {
      QVERIFY(smoothing.factors_of(role, 1).empty());
    }
    QVERIFY(smoothing.factors_of(WeightRole::head, -1).empty());
    QVERIFY(engine::Smoothing().factors_of(WeightRole::q, 1).empty());
  }

  void norms_are_divided_and_columns_multiplied() {
    const engine::Smoothing smoothing = smoothing_of({2, 0.5F, 4}, {1, 1, 1});
    std::vector<float> norm = {8, 8, 8}, matrix = {1, 2, 3, 10, 20, 30}, memory;
    const engine::PlannedWeight of_norm{.role = WeightRole::attention_norm, .layer = 1};
    const engine::PlannedWeight of_matrix{.role = WeightRole::k, .layer = 1}, of_out{.role = WeightRole::o, .layer = 1};
    const TensorView divided = smoothing.applied(*backend_, of_norm, {norm.data(), Dtype::f32, {3}}, memory);
    QCOMPARE(std::vector<float>(divided.as<float>(), divided.as<float>() + 3), (std::vector<float>{4, 16, 2}));
    const TensorView times = smoothing.applied(*backend_, of_matrix, {matrix.data(), Dtype::f32, {2, 3}}, memory);
    QCOMPARE(times.dim(0), std::int64_t{2});
    QCOMPARE(std::vector<float>(times.as<float>(), times.as<float>() + 6), (std::vector<float>{2, 1, 12, 20, 10, 120}));
    const TensorView same = smoothing.applied(*backend_, of_out, {matrix.data(), Dtype::f32, {2, 3}}, memory);
    QVERIFY(same.data == matrix.data());
  }

  void sixteen_bits_become_f32_before_they_are_scaled() {
    const engine::Smoothing smoothing = smoothing_of({1.0009765625F}, {1});
    std::uint16_t one = kernels::f32_to_bf16(1);
    std::vector<float> memory;
    const engine::PlannedWeight weight{.role = WeightRole::q, .layer = 1};
    const TensorView got = smoothing.applied(*backend_, weight, {&one, Dtype::bf16, {1, 1}}, memory);
    QVERIFY(got.dtype == Dtype::f32 && got.as<float>()[0] == 1.0009765625F);  // bf16 has no such number
  }

  /// More rows than are converted at a time, and columns that do not fill a stripe.
  void magnitudes_are_those_of_all_rows() {
    kernels::RandomNumbers numbers(1);
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      const kernels::RandomTensor source(dtype, {2500, 700}, numbers);
      std::vector<float> got(700, 0.5F), want = got;
      engine::raise_to_magnitudes(*backend_, source.view(), got);
      for (std::int64_t row = 0; row < 2500; ++row) {
        for (std::int64_t j = 0; j < 700; ++j) {
          const float x = dtype == Dtype::f32   ? source.view().row<float>(row)[j]
                          : dtype == Dtype::f16 ? kernels::f16_to_f32(source.view().row<std::uint16_t>(row)[j])
                                                : kernels::bf16_to_f32(source.view().row<std::uint16_t>(row)[j]);
          want[static_cast<std::size_t>(j)] = std::max(want[static_cast<std::size_t>(j)], std::fabs(x));
        }
      }
      QCOMPARE(got, want);
    }
  }
};

LATHE_TEST(SmoothingTest)

}  // namespace smoothing_test
#include "smoothing_test.moc"
