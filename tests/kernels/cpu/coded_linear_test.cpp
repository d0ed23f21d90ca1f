// SPDX-License-Identifier: Apache-2.0
// linear() with weights in codes, against its definition: every size, batch and number of threads.
#include <limits>
#include <vector>

#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"
#include "tests/support/coded_product.h"
#include "tests/support/test_class.h"

namespace coded_linear_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

const TensorView kNoBias;

/// The error of linear() with random weights and activations.
double error_of(Backend& backend, WeightFormat format, std::int64_t m, std::int64_t n, std::int64_t k, bool has_bias) {
  RandomNumbers numbers(static_cast<std::uint64_t>(m * 1'000'003 + n * 1009 + k));
  const RandomTensor weights(Dtype::f32, {n, k}, numbers);
  const RandomTensor x(Dtype::f32, {m, k}, numbers, 7);  // some beyond what LLM.int8() rounds
  const RandomTensor bias(Dtype::f32, {n}, numbers);
  const RandomTensor got({m, n});
  const TensorView& added = has_bias ? bias.view() : kNoBias;
  backend.linear(got.view(), x.view(), *packed(backend, format, weights.view()), added);
  return error_of_product(format, got.view(), x.view(), weights.view(), added);
}

}  // namespace

class CodedLinearTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_form_gives_the_defined_product_data() { add_isa_rows(); }
  void every_form_gives_the_defined_product() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : coded_formats()) {
      for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 18, 19, 40}) {
        const double error = error_of(*backend, format, m, 80, m % 3 == 0 ? 300 : 320, m % 2 == 0);
        QVERIFY2(error <= tolerance_of(format), qPrintable(QStringLiteral("%1 rows: %2").arg(m).arg(error)));
      }
    }
  }

  void odd_sizes_give_the_defined_product_data() { add_isa_rows(); }
  void odd_sizes_give_the_defined_product() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : coded_formats()) {
      for (const std::int64_t n : {1, 15, 17, 33, 100}) {
        for (const std::int64_t k : {4, 31, 32, 33, 64, 127, 129, 172, 192}) {
          for (const std::int64_t m : {1, 5, 14}) {
            const double error = error_of(*backend, format, m, n, k, false);
            QVERIFY2(error <= tolerance_of(format),
                     qPrintable(QStringLiteral("%1 x %2 x %3: %4").arg(m).arg(n).arg(k).arg(error)));
          }
        }
      }
    }
  }

  void long_sums_and_many_rows_give_the_defined_product_data() { add_isa_rows(); }
  void long_sums_and_many_rows_give_the_defined_product() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : coded_formats()) {
      QVERIFY(error_of(*backend, format, 7, 40, 2432, true) <= tolerance_of(format));
      QVERIFY(error_of(*backend, format, 400, 70, 192, true) <= tolerance_of(format));
      QVERIFY(error_of(*backend, format, 700, 20, 40, true) <= tolerance_of(format));
    }
  }

  /// Sums of products of bytes saturate in 16 bits on instruction sets that multiply so; codes at their ends show it.
  void codes_at_their_ends_do_not_saturate_data() { add_isa_rows(); }
  void codes_at_their_ends_do_not_saturate() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : coded_formats()) {
      const RandomTensor weights({16, 256}), x({9, 256});
      for (std::int64_t i = 0; i < 16 * 256; ++i) weights.view().as<float>()[i] = i % 32 == 0 ? -1.0F : 1.0F;
      for (std::int64_t i = 0; i < 9 * 256; ++i) x.view().as<float>()[i] = i < 3 * 256 ? 127.0F : -127.0F;
      const RandomTensor got({9, 16});
      backend->linear(got.view(), x.view(), *packed(*backend, format, weights.view()), kNoBias);
      QVERIFY(error_of_product(format, got.view(), x.view(), weights.view()) <= tolerance_of(format));
    }
  }

  void a_row_is_bitwise_the_same_in_any_batch_data() { add_isa_rows(); }
  void a_row_is_bitwise_the_same_in_any_batch() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(3);
    const RandomTensor x(Dtype::f32, {300, 1344}, numbers, 7);
    const RandomTensor bias(Dtype::f32, {130}, numbers);
    const RandomTensor weights(Dtype::f32, {130, 1344}, numbers);
    for (const WeightFormat format : coded_formats()) {
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
    for (const WeightFormat format : coded_formats()) {
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
      for (const WeightFormat format : coded_formats()) {
        if (descriptor_of(format).codes.scales == ScaleLayout::nested) continue;  // the mean is of a whole tensor
        const auto parts = backend->make_packed(format, 53, 64);
        backend->pack_rows(*parts, 29, weights.view().rows(29, 24));
        backend->pack_rows(*parts, 0, weights.view().rows(0, 7));
        backend->pack_rows(*parts, 7, weights.view().rows(7, 22));
        const RandomTensor got({3, 53});
        backend->linear(got.view(), x.view(), *parts, kNoBias);
        QVERIFY(error_of_product(format, got.view(), x.view(), weights.view()) <= tolerance_of(format));
      }
    }
  }

  void infinity_and_nan_stay_in_their_row_data() { add_isa_rows(); }
  void infinity_and_nan_stay_in_their_row() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(8);
    const RandomTensor weights(Dtype::f32, {20, 33}, numbers);
    const RandomTensor x(Dtype::f32, {14, 33}, numbers);
    for (const WeightFormat format : coded_formats()) {
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
};

LATHE_TEST(CodedLinearTest)

}  // namespace coded_linear_test
#include "coded_linear_test.moc"
