// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace linear_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16};
const TensorView kNoBias;

/// bf16 dot products round the activations to bf16; everything else differs only in the order of additions.
double tolerance(const Backend& backend, WeightFormat format) {
  return rounds_to_bf16(backend.info().isa) && format == WeightFormat::bf16 ? 1e-2 : 1e-5;
}

/// Error of x [m, k] times random weights [n, k] against the reference. `x_is_short`: x has no more bits than bf16, and no
/// form rounds it.
double error_of(Backend& backend, WeightFormat format, std::int64_t m, std::int64_t n, std::int64_t k, bool has_bias,
                bool x_is_short = false) {
  RandomNumbers numbers(static_cast<std::uint64_t>(m * 1'000'003 + n * 1009 + k));
  const RandomTensor weights(descriptor_of(format).element, {n, k}, numbers);
  const RandomTensor x(Dtype::f32, {m, k}, numbers);
  for (std::int64_t i = 0; x_is_short && i < m * k; ++i) {
    float& number = x.view().as<float>()[i];
    number = bf16_to_f32(f32_to_bf16(number));
  }
  const RandomTensor bias(Dtype::f32, {n}, numbers);
  const auto reference = make_reference_backend();
  const RandomTensor want({m, n});
  const RandomTensor got({m, n});
  reference->linear(want.view(), x.view(), *packed(*reference, format, weights.view()), has_bias ? bias.view() : kNoBias);
  backend.linear(got.view(), x.view(), *packed(backend, format, weights.view()), has_bias ? bias.view() : kNoBias);
  return relative_error(got.view(), want.view());
}

}  // namespace

class LinearTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_form_equals_the_reference_data() { add_isa_rows(); }
  void every_form_equals_the_reference() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 25, 40}) {
        QVERIFY2(error_of(*backend, format, m, 80, 70, false) <= tolerance(*backend, format),
                 qPrintable(QString::number(m)));
      }
    }
  }

  void odd_sizes_equal_the_reference_data() { add_isa_rows(); }
  void odd_sizes_equal_the_reference() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t n : {1, 7, 15, 16, 17, 33, 63, 100}) {
        for (const std::int64_t k : {1, 2, 3, 17, 31, 257}) {
          for (const std::int64_t m : {1, 5, 14}) {
            // With few outputs, all of them may be small compared to their terms, and roundings of x would dominate: x has
            // the bits of bf16.
            QVERIFY(error_of(*backend, format, m, n, k, false, true) <= 1e-5);
          }
        }
      }
    }
  }

  void blocks_of_k_continue_each_other_data() { add_isa_rows(); }
  void blocks_of_k_continue_each_other() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      for (const std::int64_t k : {255, 256, 257, 511, 513, 900}) {
        QVERIFY(error_of(*backend, format, 37, 50, k, true) <= tolerance(*backend, format));
      }
    }
  }

  void many_rows_equal_the_reference_data() { add_isa_rows(); }
  void many_rows_equal_the_reference() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      QVERIFY(error_of(*backend, format, 193, 70, 300, true) <= tolerance(*backend, format));
      QVERIFY(error_of(*backend, format, 1200, 20, 40, true) <= tolerance(*backend, format));
    }
  }

  void bias_is_added_once_data() { add_isa_rows(); }
  void bias_is_added_once() {
    const auto backend = backend_of_row();
    for (const std::int64_t m : {1, 6, 30}) QVERIFY(error_of(*backend, WeightFormat::f32, m, 35, 600, true) <= 1e-5);
  }

  void a_row_is_bitwise_the_same_in_any_batch_data() { add_isa_rows(); }
  void a_row_is_bitwise_the_same_in_any_batch() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(3);
    const RandomTensor x(Dtype::f32, {512, 333}, numbers);
    const RandomTensor bias(Dtype::f32, {130}, numbers);
    for (const WeightFormat format : kFormats) {
      const RandomTensor weights(Dtype::f32, {130, 333}, numbers);
      const auto matrix = packed(*backend, format, weights.view());
      const RandomTensor all({512, 130});
      backend->linear(all.view(), x.view(), *matrix, bias.view());
      for (const std::int64_t m : {1, 2, 3, 4, 6, 7, 8, 12, 13, 16, 24, 25, 31, 64, 200}) {
        for (const std::int64_t begin : {std::int64_t{0}, 512 - m}) {
          const RandomTensor some({m, 130});
          backend->linear(some.view(), x.view().rows(begin, m), *matrix, bias.view());
          QVERIFY2(same_bits(some.view(), all.view().rows(begin, m)), qPrintable(QString::number(m)));
        }
      }
    }
  }

  void threads_do_not_change_a_bit_data() { add_isa_rows(); }
  void threads_do_not_change_a_bit() {
    RandomNumbers numbers(4);
    const RandomTensor weights(Dtype::f32, {200, 520}, numbers);
    const RandomTensor x(Dtype::f32, {70, 520}, numbers);
    const RandomTensor one({70, 200});
    const RandomTensor four({70, 200});
    const auto single = backend_of_row(1);
    const auto several = backend_of_row(4);
    single->linear(one.view(), x.view(), *packed(*single, WeightFormat::bf16, weights.view()), kNoBias);
    several->linear(four.view(), x.view(), *packed(*several, WeightFormat::bf16, weights.view()), kNoBias);
    QVERIFY(same_bits(one.view(), four.view()));
  }

  /// Panels and rows are cut into chunks, in other places for each number of threads.
  void every_number_of_threads_gives_every_column_data() { add_isa_rows(); }
  void every_number_of_threads_gives_every_column() {
    constexpr std::int64_t kN = 16 * 57 - 3, kK = 20;
    RandomNumbers numbers(11);
    const RandomTensor weights(Dtype::bf16, {kN, kK}, numbers);
    for (const std::int64_t m : {1, 40, 400}) {
      const RandomTensor x(Dtype::f32, {m, kK}, numbers);
      const RandomTensor want({m, kN});
      const auto one = backend_of_row(1);
      one->linear(want.view(), x.view(), *packed(*one, WeightFormat::bf16, weights.view()), kNoBias);
      for (const int n_threads : {2, 3, 5, 8}) {
        const auto backend = backend_of_row(n_threads);
        const RandomTensor got({m, kN});
        backend->linear(got.view(), x.view(), *packed(*backend, WeightFormat::bf16, weights.view()), kNoBias);
        QVERIFY2(same_bits(got.view(), want.view()),
                 qPrintable(QStringLiteral("%1 rows, %2 threads").arg(m).arg(n_threads)));
      }
    }
  }

  void rows_come_from_several_sources_in_any_order_data() { add_isa_rows(); }
  void rows_come_from_several_sources_in_any_order() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(5);
    const RandomTensor weights(Dtype::f32, {53, 40}, numbers);
    const RandomTensor x(Dtype::f32, {3, 40}, numbers);
    for (const WeightFormat format : kFormats) {
      const auto whole = packed(*backend, format, weights.view());
      const auto parts = backend->make_packed(format, 53, 40);
      backend->pack_rows(*parts, 29, weights.view().rows(29, 24));
      backend->pack_rows(*parts, 0, weights.view().rows(0, 7));
      backend->pack_rows(*parts, 7, weights.view().rows(7, 22));
      const RandomTensor want({3, 53});
      const RandomTensor got({3, 53});
      backend->linear(want.view(), x.view(), *whole, kNoBias);
      backend->linear(got.view(), x.view(), *parts, kNoBias);
      QVERIFY(same_bits(got.view(), want.view()));
    }
  }

  void any_floating_source_packs_into_any_format_data() { add_isa_rows(); }
  void any_floating_source_packs_into_any_format() {
    const auto backend = backend_of_row();
    const auto reference = make_reference_backend();
    RandomNumbers numbers(6);
    const RandomTensor x(Dtype::f32, {2, 51}, numbers);
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      const RandomTensor weights(dtype, {21, 51}, numbers);
      for (const WeightFormat format : kFormats) {
        const RandomTensor want({2, 21});
        const RandomTensor got({2, 21});
        reference->linear(want.view(), x.view(), *packed(*reference, format, weights.view()), kNoBias);
        backend->linear(got.view(), x.view(), *packed(*backend, format, weights.view()), kNoBias);
        QVERIFY(relative_error(got.view(), want.view()) <= tolerance(*backend, format));
      }
    }
  }

  void strided_rows_are_read_and_written_in_place_data() { add_isa_rows(); }
  void strided_rows_are_read_and_written_in_place() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(7);
    const RandomTensor wide_x(Dtype::f32, {9, 100}, numbers);
    const RandomTensor wide_out({9, 90});
    const RandomTensor weights(Dtype::f32, {30, 60}, numbers);
    const TensorView x = wide_x.view().columns(40, 60);
    const TensorView out = wide_out.view().columns(50, 30);
    const auto matrix = packed(*backend, WeightFormat::f32, weights.view());
    backend->linear(out, x, *matrix, kNoBias);
    const RandomTensor x_alone({9, 60});
    for (std::int64_t m = 0; m < 9; ++m) std::memcpy(x_alone.view().row<float>(m), x.row<float>(m), 60 * sizeof(float));
    const RandomTensor want({9, 30});
    backend->linear(want.view(), x_alone.view(), *matrix, kNoBias);
    QVERIFY(same_bits(out, want.view()));
    QVERIFY(are_others_zero(wide_out.view(), 50, 30));
  }

  void infinity_and_nan_stay_in_their_row_data() { add_isa_rows(); }
  void infinity_and_nan_stay_in_their_row() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(8);
    const RandomTensor weights(Dtype::f32, {20, 33}, numbers);
    const RandomTensor x(Dtype::f32, {14, 33}, numbers);
    const auto matrix = packed(*backend, WeightFormat::bf16, weights.view());
    const RandomTensor clean({14, 20});
    backend->linear(clean.view(), x.view(), *matrix, kNoBias);
    x.view().row<float>(3)[32] = std::numeric_limits<float>::quiet_NaN();
    x.view().row<float>(9)[0] = std::numeric_limits<float>::infinity();
    const RandomTensor out({14, 20});
    backend->linear(out.view(), x.view(), *matrix, kNoBias);
    for (std::int64_t m = 0; m < 14; ++m) {
      if (m == 3 || m == 9) {
        QVERIFY(!std::isfinite(out.view().row<float>(m)[5]));
      } else {
        QVERIFY(same_bits(out.view().rows(m, 1), clean.view().rows(m, 1)));
      }
    }
  }

  void the_largest_weights_of_f16_and_bf16_multiply_exactly_data() { add_isa_rows(); }
  void the_largest_weights_of_f16_and_bf16_multiply_exactly() {
    const auto backend = backend_of_row();
    for (const float weight : {65504.0F, -65504.0F, 0x1p-24F}) {
      const RandomTensor weights({17, 5});
      const RandomTensor x({1, 5});
      for (std::int64_t i = 0; i < weights.view().n_elements(); ++i) weights.view().as<float>()[i] = weight;
      x.view().as<float>()[4] = 0.5F;
      const RandomTensor out({1, 17});
      backend->linear(out.view(), x.view(), *packed(*backend, WeightFormat::f16, weights.view()), kNoBias);
      QCOMPARE(out.view().as<float>()[16], weight / 2);
    }
    const RandomTensor weights({17, 1});
    for (std::int64_t i = 0; i < 17; ++i) weights.view().as<float>()[i] = 0x1.fep127F;
    const RandomTensor x({1, 1});
    x.view().as<float>()[0] = 0.5F;
    const RandomTensor out({1, 17});
    backend->linear(out.view(), x.view(), *packed(*backend, WeightFormat::bf16, weights.view()), kNoBias);
    QCOMPARE(out.view().as<float>()[16], 0x1.fep126F);
  }

  void packed_bytes_is_what_packing_takes_data() { add_isa_rows(); }
  void packed_bytes_is_what_packing_takes() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : kFormats) {
      const auto matrix = backend->make_packed(format, 33, 7);
      QCOMPARE(matrix->n_bytes(), backend->packed_bytes(format, 33, 7));
      QCOMPARE(matrix->n(), std::int64_t{33});
      QCOMPARE(matrix->k(), std::int64_t{7});
      QCOMPARE(matrix->format(), format);
    }
    QCOMPARE(backend->packed_bytes(WeightFormat::bf16, 896, 4864), std::size_t{896 * 4864 * 2});
  }
};

LATHE_TEST(LinearTest)

}  // namespace linear_test
#include "linear_test.moc"
