// SPDX-License-Identifier: Apache-2.0
// linear() with weights in groups, against its definition: both sides rounded to codes, products of codes exact.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::int8_g32, WeightFormat::int8_g64, WeightFormat::int8_g128,
                                     WeightFormat::int4_g32, WeightFormat::int4_g64, WeightFormat::int4_g128};
constexpr std::int64_t kActivationBlock = 128;
const TensorView kNoBias;

/// One row rounded as the definition says: code times scale, in blocks of 128.
std::vector<double> rounded_activations(const float* x, std::int64_t k) {
  std::vector<double> rounded(static_cast<std::size_t>(k));
  for (std::int64_t begin = 0; begin < k; begin += kActivationBlock) {
    const std::int64_t end = std::min(begin + kActivationBlock, k);
    float largest = 0;
    for (std::int64_t i = begin; i < end; ++i) largest = std::max(largest, std::fabs(x[i]));
    const float to_code = largest > 0 ? 127.0F / largest : 0;
    for (std::int64_t i = begin; i < end; ++i) {
      rounded[static_cast<std::size_t>(i)] = static_cast<double>(std::nearbyint(x[i] * to_code)) * (largest / 127);
    }
  }
  return rounded;
}

std::vector<double> rounded_weights(const GroupedCodes& format, const TensorView& weights, std::int64_t row) {
  const std::int64_t k = weights.dim(1);
  std::vector<double> rounded;
  for (std::int64_t begin = 0; begin < k; begin += format.group) {
    std::vector<float> group;
    for (std::int64_t i = begin; i < std::min<std::int64_t>(begin + format.group, k); ++i) {
      group.push_back(load_element(weights.data, weights.dtype, row * k + i));
    }
    std::vector<std::uint8_t> codes(group.size());
    const std::uint16_t scale = quantize_group(format, group, codes.data());
    for (const std::uint8_t code : codes) rounded.push_back(dequantized(format, code, scale));
  }
  return rounded;
}

RandomTensor defined_product(WeightFormat format, const TensorView& x, const TensorView& weights, const TensorView& bias) {
  RandomTensor out({x.dim(0), weights.dim(0)});
  std::vector<std::vector<double>> rows;
  for (std::int64_t m = 0; m < x.dim(0); ++m) rows.push_back(rounded_activations(x.row<float>(m), x.dim(1)));
  for (std::int64_t n = 0; n < weights.dim(0); ++n) {
    const std::vector<double> w = rounded_weights(descriptor_of(format).codes, weights, n);
    for (std::int64_t m = 0; m < x.dim(0); ++m) {
      double sum = bias.data != nullptr ? bias.as<float>()[n] : 0.0;
      for (std::size_t i = 0; i < w.size(); ++i) sum += rows[static_cast<std::size_t>(m)][i] * w[i];
      out.view().row<float>(m)[n] = static_cast<float>(sum);
    }
  }
  return out;
}

/// What is left beside the rounding of both sides: sums in f32.
double error_of(Backend& backend, WeightFormat format, std::int64_t m, std::int64_t n, std::int64_t k, bool has_bias) {
  RandomNumbers numbers(static_cast<std::uint64_t>(m * 1'000'003 + n * 1009 + k));
  const RandomTensor weights(Dtype::f32, {n, k}, numbers);
  const RandomTensor x(Dtype::f32, {m, k}, numbers);
  const RandomTensor bias(Dtype::f32, {n}, numbers);
  const RandomTensor got({m, n});
  backend.linear(got.view(), x.view(), *packed(backend, format, weights.view()), has_bias ? bias.view() : kNoBias);
  return relative_error(got.view(),
                        defined_product(format, x.view(), weights.view(), has_bias ? bias.view() : kNoBias).view());
}

constexpr double kTolerance = 5e-6;

}  // namespace

class GroupedLinearTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_form_gives_the_defined_product_data() { add_isa_rows(); }
  void every_form_gives_the_defined_product() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 18, 19, 40}) {
        const double error = error_of(*backend, format, m, 80, 300, m % 2 == 0);
        QVERIFY2(error <= kTolerance, qPrintable(QStringLiteral("%1 rows: %2").arg(m).arg(error)));
      }
    }
  }

  void odd_sizes_give_the_defined_product_data() { add_isa_rows(); }
  void odd_sizes_give_the_defined_product() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t n : {1, 15, 17, 33, 100}) {
        for (const std::int64_t k : {4, 31, 32, 33, 127, 129, 172}) {
          for (const std::int64_t m : {1, 5, 14}) {
            const double error = error_of(*backend, format, m, n, k, false);
            QVERIFY2(error <= kTolerance, qPrintable(QStringLiteral("%1 x %2 x %3: %4").arg(m).arg(n).arg(k).arg(error)));
          }
        }
      }
    }
  }

  void long_sums_and_many_rows_give_the_defined_product_data() { add_isa_rows(); }
  void long_sums_and_many_rows_give_the_defined_product() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      QVERIFY(error_of(*backend, format, 7, 40, 2400, true) <= kTolerance);
      QVERIFY(error_of(*backend, format, 400, 70, 160, true) <= kTolerance);
      QVERIFY(error_of(*backend, format, 700, 20, 40, true) <= kTolerance);
    }
  }

  /// Sums of products of bytes saturate in 16 bits on instruction sets that multiply so; codes at their ends show it.
  void codes_at_their_ends_do_not_saturate_data() { add_isa_rows(); }
  void codes_at_their_ends_do_not_saturate() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      const RandomTensor weights({16, 256}), x({9, 256});
      for (std::int64_t i = 0; i < 16 * 256; ++i) weights.view().as<float>()[i] = i % 32 == 0 ? -1.0F : 1.0F;
      for (std::int64_t i = 0; i < 9 * 256; ++i) x.view().as<float>()[i] = i < 3 * 256 ? 127.0F : -127.0F;
      const RandomTensor got({9, 16});
      backend->linear(got.view(), x.view(), *packed(*backend, format, weights.view()), kNoBias);
      QVERIFY(relative_error(got.view(), defined_product(format, x.view(), weights.view(), kNoBias).view()) <= kTolerance);
    }
  }

  void a_row_is_bitwise_the_same_in_any_batch_data() { add_isa_rows(); }
  void a_row_is_bitwise_the_same_in_any_batch() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(3);
    const RandomTensor x(Dtype::f32, {300, 1333}, numbers);
    const RandomTensor bias(Dtype::f32, {130}, numbers);
    const RandomTensor weights(Dtype::f32, {130, 1333}, numbers);
    for (const WeightFormat format : kFormats) {
      const auto matrix = packed(*backend, format, weights.view());
      const RandomTensor all({300, 130});
      backend->linear(all.view(), x.view(), *matrix, bias.view());
      for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 12, 13, 25, 31, 200}) {
        const RandomTensor some({m, 130});
        backend->linear(some.view(), x.view().rows(300 - m, m), *matrix, bias.view());
        QVERIFY2(same_bits(some.view(), all.view().rows(300 - m, m)), qPrintable(QString::number(m)));
      }
    }
  }

  void threads_do_not_change_a_bit_data() { add_isa_rows(); }
  void threads_do_not_change_a_bit() {
    RandomNumbers numbers(4);
    const RandomTensor weights(Dtype::f32, {300, 520}, numbers);
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t m : {1, 70, 400}) {
        const RandomTensor x(Dtype::f32, {m, 520}, numbers);
        const RandomTensor want({m, 300});
        const auto one = backend_of_row(1);
        one->linear(want.view(), x.view(), *packed(*one, format, weights.view()), kNoBias);
        for (const int n_threads : {2, 3, 5}) {
          const auto backend = backend_of_row(n_threads);
          const RandomTensor got({m, 300});
          backend->linear(got.view(), x.view(), *packed(*backend, format, weights.view()), kNoBias);
          QVERIFY(same_bits(got.view(), want.view()));
        }
      }
    }
  }

  void rows_come_from_several_sources_in_any_order_data() { add_isa_rows(); }
  void rows_come_from_several_sources_in_any_order() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(5);
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      const RandomTensor weights(dtype, {53, 40}, numbers);
      const RandomTensor x(Dtype::f32, {3, 40}, numbers);
      for (const WeightFormat format : kFormats) {
        const auto parts = backend->make_packed(format, 53, 40);
        backend->pack_rows(*parts, 29, weights.view().rows(29, 24));
        backend->pack_rows(*parts, 0, weights.view().rows(0, 7));
        backend->pack_rows(*parts, 7, weights.view().rows(7, 22));
        const RandomTensor got({3, 53});
        backend->linear(got.view(), x.view(), *parts, kNoBias);
        QVERIFY(relative_error(got.view(), defined_product(format, x.view(), weights.view(), kNoBias).view()) <= kTolerance);
      }
    }
  }

  void infinity_and_nan_stay_in_their_row_data() { add_isa_rows(); }
  void infinity_and_nan_stay_in_their_row() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(8);
    const RandomTensor weights(Dtype::f32, {20, 33}, numbers);
    const RandomTensor x(Dtype::f32, {14, 33}, numbers);
    for (const WeightFormat format : kFormats) {
      const auto matrix = packed(*backend, format, weights.view());
      const RandomTensor clean({14, 20}), broken = x.copy(), out({14, 20});
      backend->linear(clean.view(), x.view(), *matrix, kNoBias);
      broken.view().row<float>(3)[32] = std::numeric_limits<float>::quiet_NaN();
      broken.view().row<float>(9)[0] = std::numeric_limits<float>::infinity();
      backend->linear(out.view(), broken.view(), *matrix, kNoBias);
      for (std::int64_t m = 0; m < 14; ++m) {
        if (m == 3 || m == 9) {
          QVERIFY(!std::isfinite(out.view().row<float>(m)[5]));
        } else {
          QVERIFY(same_bits(out.view().rows(m, 1), clean.view().rows(m, 1)));
        }
      }
    }
  }

  void activations_next_to_nothing_give_zeros_data() { add_isa_rows(); }
  void activations_next_to_nothing_give_zeros() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(10);
    const RandomTensor weights(Dtype::f32, {20, 140}, numbers);
    const RandomTensor x({2, 140}), out(Dtype::f32, {2, 20}, numbers);
    for (std::int64_t i = 0; i < 140; ++i) x.view().row<float>(1)[i] = i % 2 == 0 ? 1e-40F : -3e-39F;
    backend->linear(out.view(), x.view(), *packed(*backend, WeightFormat::int8_g32, weights.view()), kNoBias);
    for (std::int64_t i = 0; i < 40; ++i) QCOMPARE(out.view().as<float>()[i], 0.0F);
  }

  /// The MLP packs what goes into `down` chunk by chunk; the same products apart give the same.
  void an_mlp_is_its_products_data() { add_isa_rows(); }
  void an_mlp_is_its_products() {
    constexpr std::int64_t kHidden = 200, kInner = 1100;
    RandomNumbers numbers(9);
    const RandomTensor gate(Dtype::f32, {kInner, kHidden}, numbers, 0.1F), up(Dtype::f32, {kInner, kHidden}, numbers, 0.1F);
    const RandomTensor down(Dtype::f32, {kHidden, kInner}, numbers, 0.1F);
    const auto backend = backend_of_row();
    const auto reference = make_reference_backend();
    for (const WeightFormat format : kFormats) {
      const auto gate_matrix = packed(*backend, format, gate.view()), up_matrix = packed(*backend, format, up.view());
      const auto down_matrix = packed(*backend, format, down.view());
      for (const std::int64_t m : {1, 5, 20, 250}) {
        const RandomTensor x(Dtype::f32, {m, kHidden}, numbers);
        const RandomTensor gated({m, kInner}), upped({m, kInner}), want({m, kHidden}), got({m, kHidden});
        backend->linear(gated.view(), x.view(), *gate_matrix, kNoBias);
        backend->linear(upped.view(), x.view(), *up_matrix, kNoBias);
        for (std::int64_t i = 0; i < m * kInner; ++i) {
          const double g = gated.view().as<float>()[i];
          gated.view().as<float>()[i] = static_cast<float>(g / (1 + std::exp(-g)) * upped.view().as<float>()[i]);
        }
        backend->linear(want.view(), gated.view(), *down_matrix, kNoBias);
        backend->gated_mlp(got.view(), x.view(), {.gate = *gate_matrix, .up = *up_matrix, .down = *down_matrix});
        // silu's last bit may tip a code to its neighbour: one of 1,100 of them, by a 127th.
        QVERIFY(relative_error(got.view(), want.view()) <= 2e-3);
      }
    }
  }

  void the_bytes_are_those_of_the_codes_and_scales() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    const std::size_t weights = 896 * 4864;
    QCOMPARE(backend->packed_bytes(WeightFormat::int8_g32, 896, 4864), weights + weights / 32 * 2);
    QCOMPARE(backend->packed_bytes(WeightFormat::int4_g32, 896, 4864), weights / 2 + weights / 32 * 2);
    QCOMPARE(backend->packed_bytes(WeightFormat::int4_g128, 896, 4864), weights / 2 + weights / 128 * 2);
    for (const WeightFormat format : kFormats) {
      const auto matrix = backend->make_packed(format, 33, 70);
      QCOMPARE(matrix->n_bytes(), backend->packed_bytes(format, 33, 70));
    }
  }
};

QTEST_GUILESS_MAIN(GroupedLinearTest)
#include "grouped_linear_test.moc"
