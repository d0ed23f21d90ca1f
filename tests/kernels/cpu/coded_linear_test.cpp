// SPDX-License-Identifier: Apache-2.0
// linear() with weights in codes, against its definition: both sides rounded to codes, products of codes exact.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/formats/bnb4/code_book.h"
#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "kernels/formats/iq4/iq4_book.h"
#include "kernels/formats/mxfp4/mxfp4_book.h"
#include "kernels/formats/tensor_codes.h"
#include "tests/kernels/backends.h"

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr std::int64_t kActivationBlock = 128;
constexpr float kOutlier = 6;
const TensorView kNoBias;

std::vector<WeightFormat> coded_formats() {
  std::vector<WeightFormat> formats;
  for (const FormatDescriptor& format : weight_formats()) {
    if (format.is_coded()) formats.push_back(format.format);
  }
  return formats;
}
const std::vector<WeightFormat> kFormats = coded_formats();

/// Rounds numbers that share a scale to e4m3: code times scale.
void round_to_e4m3(const float* x, std::int64_t n, double* out) {
  float largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(x[i]));
  const float to_code = largest > 0 ? 448.0F / largest : 0;
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = e4m3_to_f32(f32_to_e4m3(x[i] * to_code)) * static_cast<double>(largest / 448);
}

/// Rounds numbers that share a scale: code times scale.
void round_together(const float* x, std::int64_t n, bool leaves_outliers, double* out) {
  float largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!leaves_outliers || std::fabs(x[i]) < kOutlier) largest = std::max(largest, std::fabs(x[i]));
  }
  const float to_code = largest > 0 ? 127.0F / largest : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool is_kept = leaves_outliers && std::fabs(x[i]) >= kOutlier;
    out[i] = is_kept ? static_cast<double>(x[i]) : static_cast<double>(std::nearbyint(x[i] * to_code)) * (largest / 127);
  }
}

/// One row rounded as the definition says.
std::vector<double> rounded_activations(const CodedFormat& format, const float* x, std::int64_t k) {
  std::vector<double> rounded(static_cast<std::size_t>(k));
  if (!rows_begin_groups(format, k) || format.activations == ActivationScale::none) return {x, x + k};
  if (format.kind == CodeKind::e4m3) {
    round_to_e4m3(x, k, rounded.data());
    return rounded;
  }
  const std::int64_t block = format.activations == ActivationScale::block ? kActivationBlock : k;
  for (std::int64_t begin = 0; begin < k; begin += block) {
    round_together(x + begin, std::min(block, k - begin), format.activations == ActivationScale::row_of_inliers,
                   rounded.data() + begin);
  }
  return rounded;
}

/// The number that kernels multiply for a code.
double number_of(WeightFormat format, std::uint8_t code) {
  switch (format) {
    case WeightFormat::nf4:
    case WeightFormat::nf4_nested: return WholeBook<Nf4Book>().codes[code] - 128;
    case WeightFormat::fp4:
    case WeightFormat::fp4_nested: return WholeBook<Fp4Book>().codes[code] - 128;
    case WeightFormat::nf4_weight_only:
    case WeightFormat::nf4_nested_weight_only: return Nf4Book::kValues[code];
    case WeightFormat::fp4_weight_only:
    case WeightFormat::fp4_nested_weight_only: return Fp4Book::kValues[code];
    case WeightFormat::mxfp4: return WholeBook<Mxfp4Book>().codes[code] - 128;
    case WeightFormat::iq4: return WholeBook<Iq4Book>().codes[code] - 128;
    case WeightFormat::mxfp4_weight_only: return Mxfp4Book::kValues[code];
    case WeightFormat::fp8_channel:
    case WeightFormat::fp8_weight_only: return static_cast<double>(e4m3_to_f32(code)) / 256;
    default: return code - (1 << (descriptor_of(format).codes.bits - 1));
  }
}

std::vector<double> rounded_weights(WeightFormat format, const TensorCodes& tensor, std::int64_t row, std::int64_t k) {
  const CodedFormat& coded = descriptor_of(format).codes;
  std::vector<float> weights(static_cast<std::size_t>(k));
  if (!rows_begin_groups(coded, k)) {
    tensor.decoded_row(row, weights);
    return {weights.begin(), weights.end()};
  }
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(k));
  std::vector<CodeScale> scales(static_cast<std::size_t>(tensor.scales_of_row()));
  tensor.row(row, weights, codes, scales);
  std::vector<double> rounded;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t group = coded.group == 0 ? 0 : i / static_cast<std::size_t>(coded.group);
    const float scale = coded.scales == ScaleLayout::nested
                            ? tensor.nested().at(static_cast<std::size_t>(row) * scales.size() + group)
                            : scales[group].scale;
    if (coded.has_minimums()) {
      rounded.push_back(double{scale} * codes[i] + scales[group].zero);
      continue;
    }
    const double number = coded.has_zeros() ? codes[i] - scales[group].zero : number_of(format, codes[i]);
    rounded.push_back(number * coded.step * scale);
  }
  return rounded;
}

RandomTensor defined_product(WeightFormat format, const TensorView& x, const TensorView& weights, const TensorView& bias) {
  const CodedFormat& coded = descriptor_of(format).codes;
  const TensorCodes tensor(coded, weights, [](std::int64_t n, const auto& body) { body(0, n); });
  RandomTensor out({x.dim(0), weights.dim(0)});
  std::vector<std::vector<double>> rows;
  for (std::int64_t m = 0; m < x.dim(0); ++m) rows.push_back(rounded_activations(coded, x.row<float>(m), x.dim(1)));
  for (std::int64_t n = 0; n < weights.dim(0); ++n) {
    const std::vector<double> w = rounded_weights(format, tensor, n, weights.dim(1));
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
  const RandomTensor x(Dtype::f32, {m, k}, numbers, 7);  // some beyond what LLM.int8() rounds
  const RandomTensor bias(Dtype::f32, {n}, numbers);
  const RandomTensor got({m, n});
  backend.linear(got.view(), x.view(), *packed(backend, format, weights.view()), has_bias ? bias.view() : kNoBias);
  return relative_error(got.view(),
                        defined_product(format, x.view(), weights.view(), has_bias ? bias.view() : kNoBias).view());
}

constexpr double kTolerance = 5e-6;
/// Sums of a group of whole numbers are exact, those of floats are not, and what minimums add is rounded by itself: one
/// result may be small beside its terms.
double tolerance_of(WeightFormat format) {
  const CodedFormat& codes = descriptor_of(format).codes;
  return codes.multiplies_bytes() && !codes.has_minimums() ? kTolerance : 4 * kTolerance;
}

void check_mlp(Backend& backend, WeightFormat format, std::int64_t hidden, std::int64_t inner) {
  RandomNumbers numbers(9);
  const RandomTensor gate(Dtype::f32, {inner, hidden}, numbers, 0.1F), up(Dtype::f32, {inner, hidden}, numbers, 0.1F);
  const RandomTensor down(Dtype::f32, {hidden, inner}, numbers, 0.1F);
  const auto gate_matrix = packed(backend, format, gate.view()), up_matrix = packed(backend, format, up.view());
  const auto down_matrix = packed(backend, format, down.view());
  for (const std::int64_t m : {1, 5, 20, 250}) {
    const RandomTensor x(Dtype::f32, {m, hidden}, numbers);
    const RandomTensor gated({m, inner}), upped({m, inner}), want({m, hidden}), got({m, hidden});
    backend.linear(gated.view(), x.view(), *gate_matrix, kNoBias);
    backend.linear(upped.view(), x.view(), *up_matrix, kNoBias);
    for (std::int64_t i = 0; i < m * inner; ++i) {
      const double g = gated.view().as<float>()[i];
      gated.view().as<float>()[i] = static_cast<float>(g / (1 + std::exp(-g)) * upped.view().as<float>()[i]);
    }
    backend.linear(want.view(), gated.view(), *down_matrix, kNoBias);
    backend.mlp(got.view(), {.x = x.view()}, {.gate = gate_matrix.get(), .up = *up_matrix, .down = *down_matrix});
    // silu's last bit may tip a code to its neighbour: one of 1,100 of them, by a 127th; of e4m3 by a 14th.
    const double error = relative_error(got.view(), want.view());
    QVERIFY2(
        error <= (descriptor_of(format).codes.kind == CodeKind::e4m3 ? 1e-2 : 2e-3),
        qPrintable(
            QStringLiteral("%1, %2 rows: %3").arg(QString::fromUtf8(descriptor_of(format).name.data())).arg(m).arg(error)));
  }
}

}  // namespace

class CodedLinearTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_form_gives_the_defined_product_data() { add_isa_rows(); }
  void every_form_gives_the_defined_product() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 18, 19, 40}) {
        const double error = error_of(*backend, format, m, 80, m % 3 == 0 ? 300 : 320, m % 2 == 0);
        QVERIFY2(error <= tolerance_of(format), qPrintable(QStringLiteral("%1 rows: %2").arg(m).arg(error)));
      }
    }
  }

  void odd_sizes_give_the_defined_product_data() { add_isa_rows(); }
  void odd_sizes_give_the_defined_product() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t n : {1, 15, 17, 33, 100}) {
        for (const std::int64_t k : {4, 31, 32, 33, 64, 127, 129, 172, 192}) {
          for (const std::int64_t m : {1, 5, 14}) {
            const double error = error_of(*backend, format, m, n, k, false);
            // The only result has no larger one beside it, and may be a hundredth of what is taken away from what.
            const bool cancels = m * n == 1 && descriptor_of(format).codes.has_minimums();
            QVERIFY2(error <= tolerance_of(format) * (cancels ? 4 : 1),
                     qPrintable(QStringLiteral("%1 x %2 x %3: %4").arg(m).arg(n).arg(k).arg(error)));
          }
        }
      }
    }
  }

  void long_sums_and_many_rows_give_the_defined_product_data() { add_isa_rows(); }
  void long_sums_and_many_rows_give_the_defined_product() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      QVERIFY(error_of(*backend, format, 7, 40, 2432, true) <= tolerance_of(format));
      QVERIFY(error_of(*backend, format, 400, 70, 192, true) <= tolerance_of(format));
      QVERIFY(error_of(*backend, format, 700, 20, 40, true) <= tolerance_of(format));
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
      QVERIFY(relative_error(got.view(), defined_product(format, x.view(), weights.view(), kNoBias).view()) <=
              tolerance_of(format));
    }
  }

  void a_row_is_bitwise_the_same_in_any_batch_data() { add_isa_rows(); }
  void a_row_is_bitwise_the_same_in_any_batch() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(3);
    const RandomTensor x(Dtype::f32, {300, 1344}, numbers, 7);
    const RandomTensor bias(Dtype::f32, {130}, numbers);
    const RandomTensor weights(Dtype::f32, {130, 1344}, numbers);
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
    const RandomTensor weights(Dtype::f32, {300, 576}, numbers);
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t m : {1, 70, 400}) {
        const RandomTensor x(Dtype::f32, {m, 576}, numbers, 7);
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
      const RandomTensor weights(dtype, {53, 64}, numbers);
      const RandomTensor x(Dtype::f32, {3, 64}, numbers);
      for (const WeightFormat format : kFormats) {
        if (descriptor_of(format).codes.scales == ScaleLayout::nested) continue;  // the mean is of a whole tensor
        const auto parts = backend->make_packed(format, 53, 64);
        backend->pack_rows(*parts, 29, weights.view().rows(29, 24));
        backend->pack_rows(*parts, 0, weights.view().rows(0, 7));
        backend->pack_rows(*parts, 7, weights.view().rows(7, 22));
        const RandomTensor got({3, 53});
        backend->linear(got.view(), x.view(), *parts, kNoBias);
        QVERIFY(relative_error(got.view(), defined_product(format, x.view(), weights.view(), kNoBias).view()) <=
                tolerance_of(format));
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

  /// An activation of 6 and more is multiplied as it is; nothing is lost but the weight's own rounding.
  void outliers_are_multiplied_as_they_are_data() { add_isa_rows(); }
  void outliers_are_multiplied_as_they_are() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(11);
    const RandomTensor weights(Dtype::f32, {37, 128}, numbers);
    const RandomTensor x({3, 128}), got({3, 37});
    x.view().row<float>(0)[5] = 6.125F;      // the only number of its row
    x.view().row<float>(1)[127] = -1000.0F;  // beside one that would be lost in its scale
    x.view().row<float>(1)[0] = 0.01F;
    x.view().row<float>(2)[9] = 5.9999F;  // just none
    backend->linear(got.view(), x.view(), *packed(*backend, WeightFormat::llm_int8, weights.view()), kNoBias);
    const TensorCodes tensor(descriptor_of(WeightFormat::llm_int8).codes, weights.view(),
                             [](std::int64_t n, const auto& body) { body(0, n); });
    std::vector<float> row(128);
    for (std::int64_t n = 0; n < 37; ++n) {
      tensor.decoded_row(n, row);
      QVERIFY(std::fabs(got.view().row<float>(0)[n] - 6.125F * row[5]) <= 1e-5F);
      QVERIFY(std::fabs(got.view().row<float>(1)[n] - (-1000.0F * row[127] + 0.01F * row[0])) <= 1e-3F);
      QVERIFY(std::fabs(got.view().row<float>(2)[n] - 5.9999F * row[9]) <= 1e-4F);
    }
  }

  /// The scale of a token is that of its largest activation, wherever it lies; a block of its own has one of its own.
  void a_token_has_one_scale_for_dynamic_int8_data() { add_isa_rows(); }
  void a_token_has_one_scale_for_dynamic_int8() {
    const auto backend = backend_of_row();
    const RandomTensor weights({16, 256}), x({1, 256}), channel({1, 16}), grouped({1, 16});
    for (std::int64_t i = 0; i < 16 * 256; ++i) weights.view().as<float>()[i] = i % 256 < 128 ? 1.0F : 0.0F;
    x.view().as<float>()[0] = 0.003F;  // less than half a step of 127 / 127
    x.view().as<float>()[200] = 127.0F;
    backend->linear(channel.view(), x.view(), *packed(*backend, WeightFormat::int8_channel, weights.view()), kNoBias);
    backend->linear(grouped.view(), x.view(), *packed(*backend, WeightFormat::int8_g128, weights.view()), kNoBias);
    QCOMPARE(channel.view().as<float>()[3], 0.0F);
    QVERIFY(std::fabs(grouped.view().as<float>()[3] - 0.003F) < 1e-5F);
  }

  /// Every code, on every instruction set: an activation of 448 at one place gives so many of the weight there, bit by bit.
  void every_number_of_e4m3_comes_out_as_it_is_data() { add_isa_rows(); }
  void every_number_of_e4m3_comes_out_as_it_is() {
    const auto backend = backend_of_row();
    const RandomTensor weights({16, 256}), x({256, 256}), got({256, 16});
    for (std::int64_t k = 0; k < 256; ++k) {
      const float number = e4m3_to_f32(static_cast<std::uint8_t>(k % 128 == 127 ? 0x7e : k));
      for (std::int64_t n = 0; n < 16; ++n) weights.view().row<float>(n)[k] = number;
      x.view().row<float>(k)[k] = 448;
    }
    for (const WeightFormat format : {WeightFormat::fp8_channel, WeightFormat::fp8_weight_only}) {
      for (const std::int64_t m : {1, 256}) {  // widened on the way, and from a copy
        const auto matrix = packed(*backend, format, weights.view());
        backend->linear(got.view().rows(256 - m, m), x.view().rows(256 - m, m), *matrix, kNoBias);
        for (std::int64_t k = 256 - m; k < 256; ++k) {
          const float* const row = got.view().row<float>(k);
          for (std::int64_t n = 0; n < 16; ++n) QVERIFY(row[n] == 448 * weights.view().row<float>(n)[k]);
        }
      }
    }
  }

  /// Activations become what the definition says, halves and subnormal numbers of e4m3 among them.
  void activations_are_rounded_to_e4m3_data() { add_isa_rows(); }
  void activations_are_rounded_to_e4m3() {
    const auto backend = backend_of_row();
    constexpr std::int64_t kRows = 2000;
    const RandomTensor weights({16, 2}), x({kRows, 2}), got({kRows, 16});
    for (std::int64_t n = 0; n < 16; ++n) weights.view().row<float>(n)[0] = 448;  // times its scale: exactly 448
    for (std::int64_t m = 0; m < kRows; ++m) {
      x.view().row<float>(m)[0] = static_cast<float>(m - kRows / 2) * (m % 2 == 0 ? 0x1p-11F : 0.4375F);
      x.view().row<float>(m)[1] = 448;  // so that the scale of the row is 1
    }
    backend->linear(got.view(), x.view(), *packed(*backend, WeightFormat::fp8_channel, weights.view()), kNoBias);
    for (std::int64_t m = 0; m < kRows; ++m) {
      QCOMPARE(got.view().row<float>(m)[7], e4m3_to_f32(f32_to_e4m3(x.view().row<float>(m)[0])) * 448);
    }
  }

  /// The MLP packs what goes into `down` chunk by chunk; the same products apart give the same.
  void an_mlp_is_its_products_data() { add_isa_rows(); }
  void an_mlp_is_its_products() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      check_mlp(*backend, format, 192, 1088);
      check_mlp(*backend, format, 192, 1100);  // where groups of `down` may run on
    }
  }

  /// Halves go to the even neighbour. A weight of 127 has the scale 1, and so has a block whose largest number is 127.
  void activations_are_rounded_to_the_nearest_code_data() { add_isa_rows(); }
  void activations_are_rounded_to_the_nearest_code() {
    const auto backend = backend_of_row();
    const RandomTensor weights({128, 128}), x({7, 128}), got({7, 128});
    for (std::int64_t i = 0; i < 128; ++i) weights.view().row<float>(i)[i] = 127;
    for (std::int64_t i = 0; i < 7 * 128; ++i) {
      x.view().as<float>()[i] = i % 128 == 0 ? -127.0F : static_cast<float>(i % 128) * 0.25F - 16.0F;
    }
    for (const WeightFormat format : {WeightFormat::int8_g32, WeightFormat::int8_g128, WeightFormat::int8_channel}) {
      backend->linear(got.view(), x.view(), *packed(*backend, format, weights.view()), kNoBias);
      for (std::int64_t i = 0; i < 7 * 128; ++i) {
        QCOMPARE(got.view().as<float>()[i], 127 * std::nearbyint(x.view().as<float>()[i]));
      }
    }
  }

  /// Where activations stay as they are, one of them alone gives its column of weights, bit by bit.
  void numbers_of_a_book_come_out_as_they_are_data() { add_isa_rows(); }
  void numbers_of_a_book_come_out_as_they_are() {
    const auto backend = backend_of_row();
    constexpr std::int64_t kColumns = 192;
    RandomNumbers numbers(11);
    const RandomTensor weights(Dtype::f32, {19, kColumns}, numbers), x({kColumns, kColumns}), got({kColumns, 19});
    for (std::int64_t k = 0; k < kColumns; ++k) x.view().row<float>(k)[k] = 1;
    for (const WeightFormat format :
         {WeightFormat::nf4_weight_only, WeightFormat::fp4_weight_only, WeightFormat::mxfp4_weight_only}) {
      const CodedFormat& coded = descriptor_of(format).codes;
      const TensorCodes codes(coded, weights.view(), [](std::int64_t n, const auto& body) { body(0, n); });
      const auto matrix = packed(*backend, format, weights.view());
      for (const std::int64_t m : {std::int64_t{1}, kColumns}) {
        backend->linear(got.view().rows(0, m), x.view().rows(0, m), *matrix, kNoBias);
        for (std::int64_t n = 0; n < 19; ++n) {
          std::vector<float> row(kColumns);
          codes.decoded_row(n, row);
          for (std::int64_t k = 0; k < m; ++k) QCOMPARE(got.view().row<float>(k)[n], row[static_cast<std::size_t>(k)]);
        }
      }
    }
  }

  /// All codes are of use where numbers lie on one side of zero: half of them are not without zero points.
  void zero_points_halve_the_error_of_groups_on_one_side_data() { add_isa_rows(); }
  void zero_points_halve_the_error_of_groups_on_one_side() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(12);
    const RandomTensor weights(Dtype::f32, {48, 256}, numbers), x(Dtype::f32, {7, 256}, numbers);
    const RandomTensor want({7, 48}), got({7, 48});
    for (std::int64_t i = 0; i < 48 * 256; ++i) weights.view().as<float>()[i] = std::fabs(weights.view().as<float>()[i]);
    backend->linear(want.view(), x.view(), *packed(*backend, WeightFormat::f32, weights.view()), kNoBias);
    const auto error = [&](WeightFormat format) {
      backend->linear(got.view(), x.view(), *packed(*backend, format, weights.view()), kNoBias);
      double squares = 0;
      for (std::int64_t i = 0; i < 7 * 48; ++i)
        squares += std::pow(got.view().as<float>()[i] - want.view().as<float>()[i], 2);
      return std::sqrt(squares);
    };
    QVERIFY(error(WeightFormat::int4_g32_asym) < 0.6 * error(WeightFormat::int4_g32));
  }

  void the_bytes_are_those_of_the_codes_and_scales() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    const std::size_t weights = 896 * 4864;
    QCOMPARE(backend->packed_bytes(WeightFormat::int8_g32, 896, 4864), weights + weights / 32 * 2);
    QCOMPARE(backend->packed_bytes(WeightFormat::int4_g32, 896, 4864), weights / 2 + weights / 32 * 2);
    QCOMPARE(backend->packed_bytes(WeightFormat::int4_g128, 896, 4864), weights / 2 + weights / 128 * 2);
    QCOMPARE(backend->packed_bytes(WeightFormat::int4_g32_asym, 896, 4864), weights / 2 + weights / 32 * 4);
    QCOMPARE(backend->packed_bytes(WeightFormat::nf4, 896, 4864), weights / 2 + weights / 64 * 4);
    QVERIFY(backend->packed_bytes(WeightFormat::nf4_nested, 896, 4864) < weights / 100 * 52);  // 4.16 bits
    QCOMPARE(backend->packed_bytes(WeightFormat::int8_channel, 896, 4864), weights + 896 * 4);
    QCOMPARE(backend->packed_bytes(WeightFormat::fp8_channel, 896, 4864), weights + 896 * 4);
    QCOMPARE(backend->packed_bytes(WeightFormat::fp8_weight_only, 896, 4864), weights + 896 * 4);
    for (const WeightFormat format : kFormats) {
      const auto matrix = backend->make_packed(format, 33, 70);
      QCOMPARE(matrix->n_bytes(), backend->packed_bytes(format, 33, 70));
    }
  }
};

QTEST_GUILESS_MAIN(CodedLinearTest)
#include "coded_linear_test.moc"
