// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16};

/// bf16 dot products round the activations to bf16; everything else differs only in the order of additions.
double tolerance(const Backend& backend, WeightFormat format) {
  return backend.info().isa == "avx512_bf16" && format == WeightFormat::bf16 ? 2e-2 : 2e-5;
}

/// Gate, up and their biases for n outputs of k inputs, so large that silu sees numbers around 1: of a sum like -15 it would
/// multiply the rounding.
struct Layer {
  Layer(WeightFormat weight_format, std::int64_t n, std::int64_t k, RandomNumbers& numbers)
      : format(weight_format),
        gate(Dtype::f32, {n, k}, numbers, scale_of(k)),
        up(Dtype::f32, {n, k}, numbers, scale_of(k)),
        gate_bias(Dtype::f32, {n}, numbers),
        up_bias(Dtype::f32, {n}, numbers) {}

  void run(Backend& backend, const TensorView& out, const TensorView& x, bool has_bias = true) const {
    const auto packed_gate = packed(backend, format, gate.view());
    const auto packed_up = packed(backend, format, up.view());
    backend.gated_linear(out, x,
                         {.gate = *packed_gate,
                          .up = *packed_up,
                          .gate_bias = has_bias ? gate_bias.view() : TensorView(),
                          .up_bias = has_bias ? up_bias.view() : TensorView()});
  }

  static float scale_of(std::int64_t k) { return 1.0F / std::sqrt(static_cast<float>(k)); }

  WeightFormat format;
  RandomTensor gate, up, gate_bias, up_bias;
};

double error_of(Backend& backend, WeightFormat format, std::int64_t m, std::int64_t n, std::int64_t k, bool has_bias) {
  RandomNumbers numbers(static_cast<std::uint64_t>(m * 1'000'003 + n * 1009 + k));
  const Layer layer(format, n, k, numbers);
  const RandomTensor x(Dtype::f32, {m, k}, numbers);
  const RandomTensor want({m, n});
  const RandomTensor got({m, n});
  layer.run(*make_reference_backend(), want.view(), x.view(), has_bias);
  layer.run(backend, got.view(), x.view(), has_bias);
  return relative_error(got.view(), want.view());
}

/// silu(gate) * up for numbers chosen by hand: x is 1, so the weights are what comes out of both products.
std::vector<float> silu_mul(Backend& backend, const std::vector<float>& gates, float up_value) {
  const auto n = static_cast<std::int64_t>(gates.size());
  const RandomTensor gate({n, 1}), up({n, 1}), x({1, 1}), out({1, n});
  x.view().as<float>()[0] = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    gate.view().as<float>()[i] = gates[static_cast<std::size_t>(i)];
    up.view().as<float>()[i] = up_value;
  }
  const auto packed_gate = packed(backend, WeightFormat::f32, gate.view());
  const auto packed_up = packed(backend, WeightFormat::f32, up.view());
  backend.gated_linear(out.view(), x.view(), {.gate = *packed_gate, .up = *packed_up});
  return {out.view().as<float>(), out.view().as<float>() + n};
}

}  // namespace

class GatedLinearTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_form_equals_the_reference_data() { add_isa_rows(); }
  void every_form_equals_the_reference() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t m : {1, 2, 3, 4, 6, 7, 8, 9, 13, 24, 40}) {
        QVERIFY2(error_of(*backend, format, m, 80, 70, true) <= tolerance(*backend, format), qPrintable(QString::number(m)));
      }
    }
  }

  void odd_sizes_equal_the_reference_data() { add_isa_rows(); }
  void odd_sizes_equal_the_reference() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t n : {5, 15, 17, 172, 401}) {  // one alone may be a cancelled sum, nearly 0
        for (const std::int64_t k : {1, 3, 257}) {
          for (const std::int64_t m : {1, 5, 26}) {
            const double error = error_of(*backend, format, m, n, k, m == 5);
            QVERIFY2(error <= tolerance(*backend, format),
                     qPrintable(QStringLiteral("m %1, n %2, k %3: %4").arg(m).arg(n).arg(k).arg(error)));
          }
        }
      }
    }
  }

  void many_rows_equal_the_reference_data() { add_isa_rows(); }
  void many_rows_equal_the_reference() {
    const auto backend = backend_of_row();
    QVERIFY(error_of(*backend, WeightFormat::bf16, 193, 300, 40, true) <= tolerance(*backend, WeightFormat::bf16));
    QVERIFY(error_of(*backend, WeightFormat::f32, 1200, 150, 20, true) <= tolerance(*backend, WeightFormat::f32));
  }

  void a_row_is_bitwise_the_same_in_any_batch_data() { add_isa_rows(); }
  void a_row_is_bitwise_the_same_in_any_batch() {
    const auto backend = backend_of_row(3);
    RandomNumbers numbers(3);
    const RandomTensor x(Dtype::f32, {400, 333}, numbers);
    for (const WeightFormat format : kFormats) {
      const Layer layer(format, 330, 333, numbers);
      const RandomTensor all({400, 330});
      layer.run(*backend, all.view(), x.view());
      for (const std::int64_t m : {1, 2, 4, 7, 13, 64, 200}) {
        const RandomTensor some({m, 330});
        layer.run(*backend, some.view(), x.view().rows(400 - m, m));
        QVERIFY2(same_bits(some.view(), all.view().rows(400 - m, m)), qPrintable(QString::number(m)));
      }
    }
  }

  void threads_do_not_change_a_bit_data() { add_isa_rows(); }
  void threads_do_not_change_a_bit() {
    RandomNumbers numbers(4);
    const Layer layer(WeightFormat::bf16, 200, 520, numbers);
    const RandomTensor x(Dtype::f32, {70, 520}, numbers);
    const RandomTensor one({70, 200});
    const RandomTensor four({70, 200});
    layer.run(*backend_of_row(1), one.view(), x.view());
    layer.run(*backend_of_row(4), four.view(), x.view());
    QVERIFY(same_bits(one.view(), four.view()));
  }

  void only_its_columns_of_strided_rows_are_written_data() { add_isa_rows(); }
  void only_its_columns_of_strided_rows_are_written() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(7);
    const Layer layer(WeightFormat::f32, 30, 60, numbers);
    const RandomTensor x(Dtype::f32, {9, 60}, numbers);
    const RandomTensor wide({9, 90});
    const TensorView out = columns(wide.view(), 50, 30);
    const RandomTensor want({9, 30});
    layer.run(*backend, out, x.view());
    layer.run(*backend, want.view(), x.view());
    QVERIFY(same_bits(out, want.view()));
    QVERIFY(are_others_zero(wide.view(), 50, 30));
  }

  void silu_has_the_right_limits_data() { add_isa_rows(); }
  void silu_has_the_right_limits() {
    const float infinity = std::numeric_limits<float>::infinity();
    const auto silu = silu_mul(*backend_of_row(), {0.0F, 1000.0F, -1000.0F, 1e30F, -1e30F, infinity, -87.5F, 88.5F}, 1);
    QCOMPARE(silu[0], 0.0F);
    QCOMPARE(silu[1], 1000.0F);
    QVERIFY(std::abs(silu[2]) < 1e-30F);
    QCOMPARE(silu[3], 1e30F);
    QVERIFY(std::abs(silu[4]) < 1e-5F);
    QCOMPARE(silu[5], infinity);
    QVERIFY(std::abs(silu[6]) < 1e-30F);
    QCOMPARE(silu[7], 88.5F);
  }

  void silu_keeps_nan_data() { add_isa_rows(); }
  void silu_keeps_nan() {
    const std::vector<float> nans(20, std::numeric_limits<float>::quiet_NaN());
    for (const float value : silu_mul(*backend_of_row(), nans, 1)) QVERIFY(std::isnan(value));
  }
};

QTEST_GUILESS_MAIN(GatedLinearTest)
#include "gated_linear_test.moc"
