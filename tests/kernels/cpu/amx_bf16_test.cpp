// SPDX-License-Identifier: Apache-2.0
// linear() in bf16 on tiles of AMX: every bit follows from the order in which the processor is said to add.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, TDPBF16PS.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/formats/element.h"
#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace amx_bf16_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr std::int64_t kProduct = 32;  // of k that a product of tiles takes
const TensorView kNoBias;

std::unique_ptr<Backend> amx_backend(int n_threads = 2) {
  return make_cpu_backend({.n_threads = n_threads, .isa = "avx512_amx"});
}

float rounded(float x) { return bf16_to_f32(f32_to_bf16(x)); }

/// Adds one product of tiles to `sum`: even and odd k are summed apart, in f32, and then added to it.
float plus_product(float sum, const float* x, const std::uint16_t* w, std::int64_t n) {
  float even = 0, odd = 0;
  for (std::int64_t k = 0; k < n; k += 2) {
    even = std::fmaf(rounded(x[k]), bf16_to_f32(w[k]), even);
    if (k + 1 < n) odd = std::fmaf(rounded(x[k + 1]), bf16_to_f32(w[k + 1]), odd);
  }
  return sum + (even + odd);
}

/// x * weights^T + bias, added up product after product.
RandomTensor defined_product(const TensorView& x, const TensorView& weights, const TensorView& bias) {
  const std::int64_t m = x.dim(0), n = weights.dim(0), n_k = x.dim(1);
  RandomTensor out({m, n});
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < n_k; k += kProduct) {
        sum = plus_product(sum, x.row<float>(i) + k, weights.row<std::uint16_t>(j) + k, std::min(kProduct, n_k - k));
      }
      out.view().row<float>(i)[j] = bias.data == nullptr ? sum : sum + bias.as<float>()[j];
    }
  }
  return out;
}

QString words_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return QStringLiteral("%1 rows, %2 outputs, %3 inputs").arg(m).arg(n).arg(k);
}

}  // namespace

class AmxBf16Test : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    if (amx_backend() == nullptr) QSKIP("skipped: this processor has no AMX");
  }

  /// One tile of rows and two, whole ones and the last of fewer; panels alone, by twos and by fours.
  void every_bit_is_defined_data() {
    QTest::addColumn<int>("m");
    for (const int m : {1, 2, 7, 15, 16, 17, 31, 32, 33, 48, 49, 100}) QTest::addRow("%d rows", m) << m;
  }
  void every_bit_is_defined() {
    QFETCH(int, m);
    const auto backend = amx_backend();
    RandomNumbers numbers(1);
    for (const std::int64_t n : {16, 32, 48, 80}) {
      for (const std::int64_t k : {32, 64, 288}) {
        const RandomTensor x(Dtype::f32, {m, k}, numbers), weights(Dtype::bf16, {n, k}, numbers), out({m, n});
        backend->linear(out.view(), x.view(), *packed(*backend, WeightFormat::bf16, weights.view()), kNoBias);
        QVERIFY2(same_bits(out.view(), defined_product(x.view(), weights.view(), kNoBias).view()),
                 qPrintable(words_of(m, n, k)));
      }
    }
  }

  /// Outputs that fill no panel, k that fills no product and not even a pair.
  void odd_sizes_have_the_same_order() {
    const auto backend = amx_backend();
    RandomNumbers numbers(2);
    for (const std::int64_t n : {1, 15, 17, 33, 65}) {
      for (const std::int64_t k : {1, 2, 3, 31, 33, 62, 65, 257, 300, 513}) {
        for (const std::int64_t m : {1, 5, 16, 18, 35}) {
          const RandomTensor x(Dtype::f32, {m, k}, numbers), weights(Dtype::bf16, {n, k}, numbers), out({m, n});
          backend->linear(out.view(), x.view(), *packed(*backend, WeightFormat::bf16, weights.view()), kNoBias);
          QVERIFY2(same_bits(out.view(), defined_product(x.view(), weights.view(), kNoBias).view()),
                   qPrintable(words_of(m, n, k)));
        }
      }
    }
  }

  /// With many rows of x, a block of k is multiplied with all panels before the next: sums continue from the output.
  void blocks_of_k_go_on_from_the_output() {
    const auto backend = amx_backend();
    RandomNumbers numbers(3);
    const RandomTensor weights(Dtype::bf16, {70, 1504}, numbers), bias(Dtype::f32, {70}, numbers);
    const auto matrix = packed(*backend, WeightFormat::bf16, weights.view());
    for (const std::int64_t m : {17, 64, 190, 200, 385}) {
      const RandomTensor x(Dtype::f32, {m, 1504}, numbers), out({m, 70});
      backend->linear(out.view(), x.view(), *matrix, bias.view());
      QVERIFY2(same_bits(out.view(), defined_product(x.view(), weights.view(), bias.view()).view()),
               qPrintable(words_of(m, 70, 1504)));
    }
  }

  void a_bias_comes_last() {
    const auto backend = amx_backend();
    RandomNumbers numbers(4);
    for (const std::int64_t m : {1, 16, 19, 40}) {
      const RandomTensor x(Dtype::f32, {m, 320}, numbers), weights(Dtype::bf16, {50, 320}, numbers);
      const RandomTensor bias(Dtype::f32, {50}, numbers), out({m, 50});
      backend->linear(out.view(), x.view(), *packed(*backend, WeightFormat::bf16, weights.view()), bias.view());
      QVERIFY(same_bits(out.view(), defined_product(x.view(), weights.view(), bias.view()).view()));
    }
  }

  /// Rows and columns of a larger tensor: what lies beside them stays.
  void only_its_own_output_is_written() {
    const auto backend = amx_backend();
    RandomNumbers numbers(5);
    for (const std::int64_t m : {1, 15, 20, 33}) {
      const RandomTensor x(Dtype::f32, {m, 96}, numbers), weights(Dtype::bf16, {37, 96}, numbers), out({m, 64});
      backend->linear(out.view().columns(9, 37), x.view(), *packed(*backend, WeightFormat::bf16, weights.view()), kNoBias);
      QVERIFY(are_others_zero(out.view(), 9, 37));
    }
  }

  void infinity_and_nan_stay_in_their_row() {
    const auto backend = amx_backend();
    RandomNumbers numbers(6);
    const RandomTensor weights(Dtype::bf16, {40, 80}, numbers), x(Dtype::f32, {40, 80}, numbers);
    const auto matrix = packed(*backend, WeightFormat::bf16, weights.view());
    const RandomTensor broken = x.copy(), clean({40, 40}), out({40, 40});
    backend->linear(clean.view(), x.view(), *matrix, kNoBias);
    broken.view().row<float>(18)[79] = std::numeric_limits<float>::quiet_NaN();
    broken.view().row<float>(33)[0] = std::numeric_limits<float>::infinity();
    backend->linear(out.view(), broken.view(), *matrix, kNoBias);
    for (std::int64_t row = 0; row < 40; ++row) {
      if (row == 18 || row == 33) {
        QVERIFY(!std::isfinite(out.view().row<float>(row)[0]));
      } else {
        QVERIFY(same_bits(out.view().rows(row, 1), clean.view().rows(row, 1)));
      }
    }
  }

  void threads_and_company_do_not_change_a_bit() {
    RandomNumbers numbers(7);
    const RandomTensor weights(Dtype::bf16, {300, 640}, numbers), x(Dtype::f32, {620, 640}, numbers), want({620, 300});
    const auto one = amx_backend(1);
    const auto matrix = packed(*one, WeightFormat::bf16, weights.view());
    one->linear(want.view(), x.view(), *matrix, kNoBias);
    for (const int n_threads : {2, 3, 5}) {
      const auto backend = amx_backend(n_threads);
      const RandomTensor got({620, 300});
      backend->linear(got.view(), x.view(), *packed(*backend, WeightFormat::bf16, weights.view()), kNoBias);
      QVERIFY(same_bits(got.view(), want.view()));
    }
    for (const std::int64_t m : {1, 3, 16, 17, 47, 192, 193}) {
      const RandomTensor some({m, 300});
      one->linear(some.view(), x.view().rows(620 - m, m), *matrix, kNoBias);
      QVERIFY2(same_bits(some.view(), want.view().rows(620 - m, m)), qPrintable(QString::number(m)));
    }
  }

  /// Intermediate activations are packed for down chunk by chunk, and the bits are those of the products one by one.
  void an_mlp_is_its_products() {
    const auto backend = amx_backend();
    RandomNumbers numbers(8);
    const RandomTensor up(Dtype::bf16, {208, 96}, numbers), down(Dtype::bf16, {96, 208}, numbers);
    const auto up_matrix = packed(*backend, WeightFormat::bf16, up.view());
    const auto down_matrix = packed(*backend, WeightFormat::bf16, down.view());
    for (const std::int64_t m : {1, 16, 30, 250}) {
      const RandomTensor x(Dtype::f32, {m, 96}, numbers), inner({m, 208}), want({m, 96}), got({m, 96});
      backend->linear(inner.view(), x.view(), *up_matrix, kNoBias);
      for (std::int64_t i = 0; i < m * 208; ++i) inner.view().as<float>()[i] = std::max(inner.view().as<float>()[i], 0.0F);
      backend->linear(want.view(), inner.view(), *down_matrix, kNoBias);
      backend->mlp(got.view(), {.x = x.view()}, {.activation = Activation::relu, .up = *up_matrix, .down = *down_matrix});
      QVERIFY2(same_bits(got.view(), want.view()), qPrintable(QString::number(m)));
    }
  }
};

LATHE_TEST(AmxBf16Test)

}  // namespace amx_bf16_test
#include "amx_bf16_test.moc"
