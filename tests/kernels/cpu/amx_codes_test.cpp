// SPDX-License-Identifier: Apache-2.0
// linear() with weights in codes on tiles of AMX: the bits of vectors, for every format, size and way to the codes.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace amx_codes_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

const TensorView kNoBias;

std::unique_ptr<Backend> backend_for(const char* isa, int n_threads = 2) {
  return make_cpu_backend({.n_threads = n_threads, .isa = isa});
}

/// One data row for each format whose codes are multiplied as bytes.
void add_byte_formats() {
  QTest::addColumn<int>("format");
  for (const FormatDescriptor& format : weight_formats()) {
    if (!format.is_coded() || !format.codes.multiplies_bytes()) continue;
    QTest::newRow(std::string(format.name).c_str()) << static_cast<int>(format.format);
  }
}

/// The same product by tiles and by vectors.
class BothWays {
 public:
  explicit BothWays(int n_threads = 2)
      : tiles_(backend_for("avx512_amx", n_threads)), vectors_(backend_for("avx512_vnni", n_threads)) {}

  bool agree(WeightFormat format, const TensorView& x, const TensorView& weights, const TensorView& bias) {
    const RandomTensor by_tiles({x.dim(0), weights.dim(0)}), by_vectors({x.dim(0), weights.dim(0)});
    tiles_->linear(by_tiles.view(), x, *packed(*tiles_, format, weights), bias);
    vectors_->linear(by_vectors.view(), x, *packed(*vectors_, format, weights), bias);
    return same_bits(by_tiles.view(), by_vectors.view());
  }
  Backend& tiles() { return *tiles_; }

 private:
  std::unique_ptr<Backend> tiles_, vectors_;
};

QString words_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return QStringLiteral("%1 rows, %2 outputs, %3 inputs").arg(m).arg(n).arg(k);
}

}  // namespace

class AmxCodesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    if (backend_for("avx512_amx") == nullptr) QSKIP("skipped: this processor has no AMX");
  }

  /// Few tiles of rows take codes of 8 bits as they lie in whole panels and blocks; others, and more, a copy around zero.
  void tiles_give_the_bits_of_vectors_data() { add_byte_formats(); }
  void tiles_give_the_bits_of_vectors() {
    QFETCH(int, format);
    BothWays ways;
    RandomNumbers numbers(1);
    for (const std::int64_t n : {32, 64, 96}) {
      for (const std::int64_t k : {128, 384, 1152}) {
        const RandomTensor weights(Dtype::f32, {n, k}, numbers);
        for (const std::int64_t m : {12, 13, 16, 17, 29, 32, 33, 48, 70}) {
          const RandomTensor x(Dtype::f32, {m, k}, numbers, 7);
          QVERIFY2(ways.agree(static_cast<WeightFormat>(format), x.view(), weights.view(), kNoBias),
                   qPrintable(words_of(m, n, k)));
        }
      }
    }
  }

  /// The last panel, the last block and the last group have less than the others, down to one output and one input.
  void odd_sizes_give_the_bits_of_vectors_data() { add_byte_formats(); }
  void odd_sizes_give_the_bits_of_vectors() {
    QFETCH(int, format);
    BothWays ways;
    RandomNumbers numbers(2);
    for (const std::int64_t n : {1, 15, 17, 33, 47, 100}) {
      for (const std::int64_t k : {1, 31, 33, 64, 96, 129, 160, 1100}) {
        const RandomTensor weights(Dtype::f32, {n, k}, numbers), bias(Dtype::f32, {n}, numbers);
        for (const std::int64_t m : {14, 18, 37}) {
          const RandomTensor x(Dtype::f32, {m, k}, numbers);
          QVERIFY2(ways.agree(static_cast<WeightFormat>(format), x.view(), weights.view(), bias.view()),
                   qPrintable(words_of(m, n, k)));
        }
      }
    }
  }

  /// More blocks of k than a stretch has: sums go on from the output.
  void long_rows_give_the_bits_of_vectors_data() { add_byte_formats(); }
  void long_rows_give_the_bits_of_vectors() {
    QFETCH(int, format);
    BothWays ways(3);
    RandomNumbers numbers(3);
    const RandomTensor weights(Dtype::f32, {80, 4864}, numbers), bias(Dtype::f32, {80}, numbers);
    for (const std::int64_t m : {16, 31, 100, 200}) {
      const RandomTensor x(Dtype::f32, {m, 4864}, numbers, 7);
      QVERIFY(ways.agree(static_cast<WeightFormat>(format), x.view(), weights.view(), bias.view()));
    }
  }

  /// The largest sums that codes can give stay whole numbers of f32.
  void codes_at_their_ends_give_the_bits_of_vectors_data() { add_byte_formats(); }
  void codes_at_their_ends_give_the_bits_of_vectors() {
    QFETCH(int, format);
    BothWays ways;
    const RandomTensor weights({32, 256}), x({40, 256});
    for (std::int64_t i = 0; i < 32 * 256; ++i) weights.view().as<float>()[i] = i % 3 == 0 ? -1.0F : 1.0F;
    for (std::int64_t row = 0; row < 40; ++row) {
      for (std::int64_t k = 0; k < 256; ++k) x.view().row<float>(row)[k] = (row + k) % 5 == 0 ? -3.0F : 3.0F;
    }
    QVERIFY(ways.agree(static_cast<WeightFormat>(format), x.view(), weights.view(), kNoBias));
    QVERIFY(ways.agree(static_cast<WeightFormat>(format), x.view().rows(0, 16), weights.view(), kNoBias));
  }

  void infinity_and_nan_stay_in_their_row_data() { add_byte_formats(); }
  void infinity_and_nan_stay_in_their_row() {
    QFETCH(int, format);
    BothWays ways;
    RandomNumbers numbers(4);
    const RandomTensor weights(Dtype::f32, {32, 128}, numbers);
    const auto matrix = packed(ways.tiles(), static_cast<WeightFormat>(format), weights.view());
    for (const std::int64_t m : {16, 50}) {  // as they lie, and from a copy
      const RandomTensor x(Dtype::f32, {m, 128}, numbers), broken = x.copy(), clean({m, 32}), out({m, 32});
      ways.tiles().linear(clean.view(), x.view(), *matrix, kNoBias);
      broken.view().row<float>(3)[127] = std::numeric_limits<float>::quiet_NaN();
      broken.view().row<float>(15)[0] = std::numeric_limits<float>::infinity();
      ways.tiles().linear(out.view(), broken.view(), *matrix, kNoBias);
      for (std::int64_t row = 0; row < m; ++row) {
        if (row == 3 || row == 15) {
          QVERIFY(!std::isfinite(out.view().row<float>(row)[0]));
        } else {
          QVERIFY(same_bits(out.view().rows(row, 1), clean.view().rows(row, 1)));
        }
      }
    }
  }

  /// Rows and columns of a larger tensor: what lies beside them stays.
  void only_its_own_output_is_written_data() { add_byte_formats(); }
  void only_its_own_output_is_written() {
    QFETCH(int, format);
    BothWays ways;
    RandomNumbers numbers(5);
    const RandomTensor weights(Dtype::f32, {37, 256}, numbers);
    const auto matrix = packed(ways.tiles(), static_cast<WeightFormat>(format), weights.view());
    for (const std::int64_t m : {13, 16, 35}) {
      const RandomTensor x(Dtype::f32, {m, 256}, numbers), out({m, 64});
      ways.tiles().linear(out.view().columns(9, 37), x.view(), *matrix, kNoBias);
      QVERIFY(are_others_zero(out.view(), 9, 37));
    }
  }

  /// A batch passes from vectors to tiles while it grows, and no row notices.
  void growing_batches_change_no_row_data() { add_byte_formats(); }
  void growing_batches_change_no_row() {
    QFETCH(int, format);
    BothWays ways;
    RandomNumbers numbers(6);
    const RandomTensor weights(Dtype::f32, {64, 512}, numbers), x(Dtype::f32, {36, 512}, numbers, 7), all({36, 64});
    const auto matrix = packed(ways.tiles(), static_cast<WeightFormat>(format), weights.view());
    ways.tiles().linear(all.view(), x.view(), *matrix, kNoBias);
    for (std::int64_t m = 1; m < 36; ++m) {
      const RandomTensor some({m, 64});
      ways.tiles().linear(some.view(), x.view().rows(0, m), *matrix, kNoBias);
      QVERIFY2(same_bits(some.view(), all.view().rows(0, m)), qPrintable(QString::number(m)));
    }
  }
};

LATHE_TEST(AmxCodesTest)

}  // namespace amx_codes_test
#include "amx_codes_test.moc"
