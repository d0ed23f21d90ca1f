// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace mlp_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16};

/// bf16 dot products round the activations to bf16, twice; everything else differs only in the order of additions.
double tolerance(const Backend& backend, WeightFormat format) {
  return rounds_to_bf16(backend.info().isa) && format == WeightFormat::bf16 ? 4e-2 : 2e-5;
}

struct MlpShape {
  std::int64_t hidden, inner;
};

/// Weights and biases so large that silu sees numbers around 1: of a sum like -15 it would multiply the rounding.
struct Mlp {
  Mlp(WeightFormat weight_format, MlpShape shape, RandomNumbers& numbers)
      : format(weight_format),
        gate(Dtype::f32, {shape.inner, shape.hidden}, numbers, scale_of(shape.hidden)),
        up(Dtype::f32, {shape.inner, shape.hidden}, numbers, scale_of(shape.hidden)),
        down(Dtype::f32, {shape.hidden, shape.inner}, numbers, scale_of(shape.inner)),
        gate_bias(Dtype::f32, {shape.inner}, numbers),
        up_bias(Dtype::f32, {shape.inner}, numbers),
        down_bias(Dtype::f32, {shape.hidden}, numbers) {}

  void run(Backend& backend, const TensorView& out, const TensorView& x, bool has_bias = true) const {
    const auto packed_gate = packed(backend, format, gate.view());
    const auto packed_up = packed(backend, format, up.view());
    const auto packed_down = packed(backend, format, down.view());
    backend.mlp(out, {.x = x},
                {.gate = packed_gate.get(),
                 .up = *packed_up,
                 .down = *packed_down,
                 .gate_bias = has_bias ? gate_bias.view() : TensorView(),
                 .up_bias = has_bias ? up_bias.view() : TensorView(),
                 .down_bias = has_bias ? down_bias.view() : TensorView()});
  }

  void run_without_gate(Backend& backend, const TensorView& out, const TensorView& x) const {
    const auto packed_up = packed(backend, format, up.view());
    const auto packed_down = packed(backend, format, down.view());
    backend.mlp(out, {.x = x},
                {.activation = Activation::gelu,
                 .up = *packed_up,
                 .down = *packed_down,
                 .up_bias = up_bias.view(),
                 .down_bias = down_bias.view()});
  }

  static float scale_of(std::int64_t k) { return 1.0F / std::sqrt(static_cast<float>(k)); }

  WeightFormat format;
  RandomTensor gate, up, down, gate_bias, up_bias, down_bias;
};

double error_of(Backend& backend, WeightFormat format, std::int64_t m, MlpShape shape, bool has_bias) {
  RandomNumbers numbers(static_cast<std::uint64_t>(m * 1'000'003 + shape.inner * 1009 + shape.hidden));
  const Mlp layer(format, shape, numbers);
  const RandomTensor x(Dtype::f32, {m, shape.hidden}, numbers);
  const RandomTensor want({m, shape.hidden});
  const RandomTensor got({m, shape.hidden});
  layer.run(*make_reference_backend(), want.view(), x.view(), has_bias);
  layer.run(backend, got.view(), x.view(), has_bias);
  return relative_error(got.view(), want.view());
}

/// silu of a number, as the MLP sees it in any place of a vector: x and all other weights are 1, so 37 times silu comes out.
float silu_of(Backend& backend, float value) {
  constexpr std::int64_t kInner = 37;  // whole vectors and a rest
  const RandomTensor gate({kInner, 1}), up({kInner, 1}), down({1, kInner}), x({1, 1}), out({1, 1});
  x.view().as<float>()[0] = 1;
  std::fill_n(gate.view().as<float>(), kInner, value);
  std::fill_n(up.view().as<float>(), kInner, 1.0F);
  std::fill_n(down.view().as<float>(), kInner, 1.0F);
  const auto packed_gate = packed(backend, WeightFormat::f32, gate.view());
  const auto packed_up = packed(backend, WeightFormat::f32, up.view());
  const auto packed_down = packed(backend, WeightFormat::f32, down.view());
  backend.mlp(out.view(), {.x = x.view()}, {.gate = packed_gate.get(), .up = *packed_up, .down = *packed_down});
  return out.view().as<float>()[0] / kInner;
}

/// The activation of many numbers at once: x is 1, the weights are the numbers, and down adds each to an output of its own.
std::vector<float> activated(Backend& backend, Activation activation, const std::vector<float>& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  const RandomTensor up({n, 1}), down({n, n}), x({1, 1}), out({1, n});
  x.view().as<float>()[0] = 1;
  std::copy(values.begin(), values.end(), up.view().as<float>());
  for (std::int64_t i = 0; i < n; ++i) down.view().row<float>(i)[i] = 1;
  const auto packed_up = packed(backend, WeightFormat::f32, up.view());
  const auto packed_down = packed(backend, WeightFormat::f32, down.view());
  backend.mlp(out.view(), {.x = x.view()}, {.activation = activation, .up = *packed_up, .down = *packed_down});
  return {out.view().as<float>(), out.view().as<float>() + n};
}

double exact(Activation activation, double x) {
  switch (activation) {
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::gelu: return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case Activation::gelu_tanh: return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::relu: return x > 0 ? x : 0;
    case Activation::relu_squared: return x > 0 ? x * x : 0;
    case Activation::clamped_silu: return std::min(x, 7.0) / (1 + std::exp(-1.702 * std::min(x, 7.0)));
  }
  return NAN;
}

}  // namespace

class MlpTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void activations_are_what_they_are_called_data() { add_isa_rows(); }
  void activations_are_what_they_are_called() {
    std::vector<float> values;
    for (int i = -60; i <= 60; ++i) values.push_back(static_cast<float>(i) * 0.17F);
    for (const float far : {-90.0F, -30.0F, 30.0F, 90.0F, 0.001F, -0.001F}) values.push_back(far);
    const auto backend = backend_of_row();
    for (const Activation activation : {Activation::silu, Activation::gelu, Activation::gelu_tanh, Activation::relu,
                                        Activation::clamped_silu, Activation::relu_squared}) {
      const std::vector<float> got = activated(*backend, activation, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double want = exact(activation, values[i]);
        QVERIFY2(
            std::fabs(got[i] - want) <= 4e-7 * std::max({1.0, std::fabs(static_cast<double>(values[i])), std::fabs(want)}),
            qPrintable(
                QString("%1 of %2: %3, not %4").arg(static_cast<int>(activation)).arg(values[i]).arg(got[i]).arg(want)));
      }
    }
  }

  /// (clamp(up, -7, 7) + 1) times what the gate gives: gpt-oss.
  void a_clamped_gate_bounds_both_sides_data() { add_isa_rows(); }
  void a_clamped_gate_bounds_both_sides() {
    const auto backend = backend_of_row();
    const RandomTensor one({1, 1}), gate({1, 1}), up({1, 1}), out({1, 1});
    one.view().as<float>()[0] = 1;
    const auto down = packed(*backend, WeightFormat::f32, one.view());
    for (const float of_gate : {-50.0F, -2.0F, 0.5F, 6.9F, 7.1F, 40.0F}) {
      for (const float of_up : {-40.0F, -6.9F, -1.0F, 0.0F, 3.0F, 8.0F}) {
        gate.view().as<float>()[0] = of_gate;
        up.view().as<float>()[0] = of_up;
        const auto packed_gate = packed(*backend, WeightFormat::f32, gate.view());
        const auto packed_up = packed(*backend, WeightFormat::f32, up.view());
        const MlpWeights weights{
            .activation = Activation::clamped_silu, .gate = packed_gate.get(), .up = *packed_up, .down = *down};
        backend->mlp(out.view(), {.x = one.view()}, weights);
        const double want = exact(Activation::clamped_silu, of_gate) * (std::clamp<double>(of_up, -7, 7) + 1);
        QVERIFY(std::fabs(out.view().as<float>()[0] - want) <= 4e-7 * std::max(1.0, std::fabs(want)));
      }
    }
  }

  void without_a_gate_it_equals_the_reference_data() { add_isa_rows(); }
  void without_a_gate_it_equals_the_reference() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(31);
    for (const WeightFormat format : kFormats) {
      const Mlp layer(format, {.hidden = 70, .inner = 210}, numbers);
      for (const std::int64_t m : {1, 5, 40}) {
        const RandomTensor x(Dtype::f32, {m, 70}, numbers);
        const RandomTensor want({m, 70}), got({m, 70});
        layer.run_without_gate(*make_reference_backend(), want.view(), x.view());
        layer.run_without_gate(*backend, got.view(), x.view());
        QVERIFY(relative_error(got.view(), want.view()) <= tolerance(*backend, format));
      }
    }
  }

  void every_form_equals_the_reference_data() { add_isa_rows(); }
  void every_form_equals_the_reference() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t m : {1, 2, 3, 4, 6, 7, 8, 9, 13, 24, 40}) {
        QVERIFY2(error_of(*backend, format, m, {.hidden = 70, .inner = 80}, true) <= tolerance(*backend, format),
                 qPrintable(QString::number(m)));
      }
    }
  }

  void odd_sizes_equal_the_reference_data() { add_isa_rows(); }
  void odd_sizes_equal_the_reference() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t inner : {1, 5, 15, 17, 172, 401}) {
        for (const std::int64_t hidden : {3, 17, 257}) {  // one alone may be a cancelled sum, nearly 0
          for (const std::int64_t m : {1, 5, 26}) {
            const double error = error_of(*backend, format, m, {hidden, inner}, m == 5);
            QVERIFY2(error <= tolerance(*backend, format),
                     qPrintable(QStringLiteral("m %1, hidden %2, inner %3: %4").arg(m).arg(hidden).arg(inner).arg(error)));
          }
        }
      }
    }
  }

  void many_rows_equal_the_reference_data() { add_isa_rows(); }
  void many_rows_equal_the_reference() {
    const auto backend = backend_of_row();
    QVERIFY(error_of(*backend, WeightFormat::bf16, 193, {40, 300}, true) <= tolerance(*backend, WeightFormat::bf16));
    QVERIFY(error_of(*backend, WeightFormat::f32, 1200, {20, 150}, true) <= tolerance(*backend, WeightFormat::f32));
    // Chunks of the inner numbers begin inside a block of k and end in the next.
    QVERIFY(error_of(*backend, WeightFormat::bf16, 26, {40, 1500}, true) <= tolerance(*backend, WeightFormat::bf16));
  }

  void a_row_is_bitwise_the_same_in_any_batch_data() { add_isa_rows(); }
  void a_row_is_bitwise_the_same_in_any_batch() {
    const auto backend = backend_of_row(3);
    RandomNumbers numbers(3);
    const RandomTensor x(Dtype::f32, {400, 333}, numbers);
    for (const WeightFormat format : kFormats) {
      const Mlp mlp(format, {.hidden = 333, .inner = 330}, numbers);
      const RandomTensor all({400, 333});
      mlp.run(*backend, all.view(), x.view());
      for (const std::int64_t m : {1, 2, 4, 7, 13, 64, 200}) {
        const RandomTensor some({m, 333});
        mlp.run(*backend, some.view(), x.view().rows(400 - m, m));
        QVERIFY2(same_bits(some.view(), all.view().rows(400 - m, m)), qPrintable(QString::number(m)));
      }
    }
  }

  void threads_do_not_change_a_bit_data() { add_isa_rows(); }
  void threads_do_not_change_a_bit() {
    RandomNumbers numbers(4);
    const Mlp mlp(WeightFormat::bf16, {.hidden = 520, .inner = 2100}, numbers);  // cut otherwise by each number of threads
    const RandomTensor x(Dtype::f32, {70, 520}, numbers);
    const RandomTensor one({70, 520});
    mlp.run(*backend_of_row(1), one.view(), x.view());
    for (const int n_threads : {3, 4}) {
      const RandomTensor more({70, 520});
      mlp.run(*backend_of_row(n_threads), more.view(), x.view());
      QVERIFY2(same_bits(one.view(), more.view()), qPrintable(QString::number(n_threads)));
    }
  }

  void only_its_columns_of_strided_rows_are_written_data() { add_isa_rows(); }
  void only_its_columns_of_strided_rows_are_written() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(7);
    const Mlp mlp(WeightFormat::f32, {.hidden = 30, .inner = 60}, numbers);
    const RandomTensor x(Dtype::f32, {9, 30}, numbers);
    const RandomTensor wide({9, 90});
    const TensorView out = wide.view().columns(50, 30);
    const RandomTensor want({9, 30});
    mlp.run(*backend, out, x.view());
    mlp.run(*backend, want.view(), x.view());
    QVERIFY(same_bits(out, want.view()));
    QVERIFY(are_others_zero(wide.view(), 50, 30));
  }

  void silu_has_the_right_limits_data() { add_isa_rows(); }
  void silu_has_the_right_limits() {
    const float infinity = std::numeric_limits<float>::infinity();
    const auto backend = backend_of_row();
    QCOMPARE(silu_of(*backend, 0.0F), 0.0F);
    QCOMPARE(silu_of(*backend, 1000.0F), 1000.0F);
    QVERIFY(std::abs(silu_of(*backend, -1000.0F)) < 1e-30F);
    QCOMPARE(silu_of(*backend, 1e30F), 1e30F);
    QVERIFY(std::abs(silu_of(*backend, -1e30F)) < 1e-5F);
    QCOMPARE(silu_of(*backend, infinity), infinity);
    QVERIFY(std::abs(silu_of(*backend, -87.5F)) < 1e-30F);
    QCOMPARE(silu_of(*backend, 88.5F), 88.5F);
  }

  void silu_keeps_nan_data() { add_isa_rows(); }
  void silu_keeps_nan() { QVERIFY(std::isnan(silu_of(*backend_of_row(), std::numeric_limits<float>::quiet_NaN()))); }
};

LATHE_TEST(MlpTest)

}  // namespace mlp_test
#include "mlp_test.moc"
