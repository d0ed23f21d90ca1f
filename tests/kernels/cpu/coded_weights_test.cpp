// SPDX-License-Identifier: Apache-2.0
// Tests of the numbers that codes represent where they are multiplied, and of the bytes that they take.
#include <cmath>
#include <vector>

#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"
#include "tests/support/coded_product.h"
#include "tests/support/test_class.h"

namespace coded_weights_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

const TensorView kNoBias;

}  // namespace

class CodedWeightsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
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
    for (const WeightFormat format : {WeightFormat::fp8_channel, WeightFormat::fp8_weight_only, WeightFormat::fp8_g128}) {
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

  /// Where activations stay as they are, one of them alone gives its column of weights, bit by bit.
  void numbers_come_out_as_they_are_data() { add_isa_rows(); }
  void numbers_come_out_as_they_are() {
    const auto backend = backend_of_row();
    constexpr std::int64_t kColumns = 192;
    RandomNumbers numbers(11);
    const RandomTensor weights(Dtype::f32, {19, kColumns}, numbers), x({kColumns, kColumns}), got({kColumns, 19});
    for (std::int64_t k = 0; k < kColumns; ++k) x.view().row<float>(k)[k] = 1;
    for (const WeightFormat format : {WeightFormat::nf4_weight_only, WeightFormat::fp4_weight_only,
                                      WeightFormat::mxfp4_weight_only, WeightFormat::fp8_g128}) {
      const TensorCodes codes = codes_of(format, weights.view());
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
    QCOMPARE(backend->packed_bytes(WeightFormat::fp8_g128, 896, 4864), weights + weights / 128 * 4);
    for (const WeightFormat format : coded_formats()) {
      const auto matrix = backend->make_packed(format, 33, 70);
      QCOMPARE(matrix->n_bytes(), backend->packed_bytes(format, 33, 70));
    }
  }
};

LATHE_TEST(CodedWeightsTest)

}  // namespace coded_weights_test
#include "coded_weights_test.moc"
