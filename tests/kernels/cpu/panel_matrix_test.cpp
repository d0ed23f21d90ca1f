// SPDX-License-Identifier: Apache-2.0
// Where each weight lies after packing: the contract between the packer and every instruction set's kernels.
#include "kernels/cpu/panel_matrix.h"

#include <QTest>
#include <cstring>

#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/table/op_table.h"
#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "kernels/selftest/random_tensor.h"
#include "tests/support/test_class.h"

namespace panel_matrix_test {

using namespace lathe::kernels;

namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16};

PanelMatrix made(WeightFormat format, std::int64_t n, std::int64_t k) {
  return {format, n, k, allocate_host(PanelMatrix::bytes_for(format, n, k))};
}

/// Weight (n, k) as the layout says, read from the bytes.
float weight_at(const PanelMatrix& matrix, std::int64_t n, std::int64_t k) {
  const std::byte* panel = matrix.data() + n / kPanelColumns * matrix.panel_bytes();
  const std::int64_t column = n % kPanelColumns;
  const bool interleaved = matrix.format() == WeightFormat::bf16;
  const std::int64_t in_pair = interleaved ? 2 * column + k % 2 : k % 2 * kPanelColumns + column;
  return load_element(panel, descriptor_of(matrix.format()).element, k / 2 * kPairWeights + in_pair);
}

}  // namespace

class PanelMatrixTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_weight_lies_where_the_layout_says() {
    ThreadPool pool(2);
    RandomNumbers numbers(1);
    for (const WeightFormat format : kFormats) {
      const Dtype dtype = descriptor_of(format).element;
      const RandomTensor source(dtype, {37, 21}, numbers);
      PanelMatrix matrix = made(format, 37, 21);
      matrix.pack_rows(0, source.view(), pool);
      for (std::int64_t n = 0; n < 37; ++n) {
        for (std::int64_t k = 0; k < 21; ++k) {
          QCOMPARE(weight_at(matrix, n, k), load_element(source.view().data, dtype, n * 21 + k));
        }
      }
    }
  }

  void padding_is_zero() {
    ThreadPool pool(1);
    RandomNumbers numbers(2);
    for (const WeightFormat format : kFormats) {
      const RandomTensor source(Dtype::f32, {17, 3}, numbers);
      PanelMatrix matrix = made(format, 17, 3);
      matrix.pack_rows(0, source.view(), pool);
      for (std::int64_t n = 0; n < 2 * kPanelColumns; ++n) {
        for (std::int64_t k = 0; k < 4; ++k) {
          if (n >= 17 || k >= 3) QCOMPARE(weight_at(matrix, n, k), 0.0F);
        }
      }
    }
  }

  void bytes_count_whole_panels_and_pairs() {
    QCOMPARE(PanelMatrix::bytes_for(WeightFormat::f32, 16, 2), std::size_t{16 * 2 * 4});
    QCOMPARE(PanelMatrix::bytes_for(WeightFormat::f32, 17, 2), std::size_t{32 * 2 * 4});
    QCOMPARE(PanelMatrix::bytes_for(WeightFormat::bf16, 16, 3), std::size_t{16 * 4 * 2});
    QCOMPARE(PanelMatrix::bytes_for(WeightFormat::f16, 1, 1), std::size_t{16 * 2 * 2});
  }

  void a_matrix_says_what_it_is() {
    const PanelMatrix matrix = made(WeightFormat::bf16, 33, 7);
    QCOMPARE(matrix.n(), std::int64_t{33});
    QCOMPARE(matrix.k(), std::int64_t{7});
    QCOMPARE(matrix.n_panels(), std::int64_t{3});
    QVERIFY(matrix.format() == WeightFormat::bf16);
    QVERIFY(matrix.n_bytes() >= PanelMatrix::bytes_for(WeightFormat::bf16, 33, 7));
    QCOMPARE(matrix.panel_bytes() * 3, static_cast<std::int64_t>(PanelMatrix::bytes_for(WeightFormat::bf16, 33, 7)));
  }

  void rows_leave_their_neighbours_alone() {
    ThreadPool pool(2);
    RandomNumbers numbers(3);
    const RandomTensor first(Dtype::f32, {40, 5}, numbers);
    const RandomTensor second(Dtype::f32, {9, 5}, numbers);
    for (const WeightFormat format : kFormats) {
      PanelMatrix matrix = made(format, 40, 5);
      PanelMatrix untouched = made(format, 40, 5);
      matrix.pack_rows(0, first.view(), pool);
      untouched.pack_rows(0, first.view(), pool);
      matrix.pack_rows(12, second.view(), pool);
      for (std::int64_t n = 0; n < 40; ++n) {
        const bool replaced = n >= 12 && n < 21;
        if (!replaced) QCOMPARE(weight_at(matrix, n, 4), weight_at(untouched, n, 4));
      }
    }
  }

  void narrowing_rounds_to_nearest() {
    ThreadPool pool(1);
    const RandomTensor source({1, 2});
    source.view().row<float>(0)[0] = 1.00390625F;  // halfway between two bf16 numbers: the even one
    source.view().row<float>(0)[1] = 1e30F;        // beyond f16
    PanelMatrix bf16 = made(WeightFormat::bf16, 1, 2);
    PanelMatrix f16 = made(WeightFormat::f16, 1, 2);
    bf16.pack_rows(0, source.view(), pool);
    f16.pack_rows(0, source.view(), pool);
    QCOMPARE(weight_at(bf16, 0, 0), 1.0F);
    QVERIFY(std::isinf(weight_at(f16, 0, 1)));
  }

  void bits_of_the_same_type_are_kept() {
    ThreadPool pool(1);
    // A NaN with a payload would lose it on the way through f32.
    std::uint16_t bits[2] = {0x7f81, 0x0001};
    const TensorView source(bits, Dtype::bf16, {1, 2});
    PanelMatrix matrix = made(WeightFormat::bf16, 1, 2);
    matrix.pack_rows(0, source, pool);
    std::uint16_t stored[2];
    std::memcpy(stored, matrix.data(), sizeof(stored));
    QCOMPARE(stored[0], bits[0]);
    QCOMPARE(stored[1], bits[1]);
  }

  void threads_pack_the_same_bytes() {
    RandomNumbers numbers(4);
    const RandomTensor source(Dtype::f32, {300, 65}, numbers);
    ThreadPool one(1), three(3);
    PanelMatrix a = made(WeightFormat::bf16, 300, 65);
    PanelMatrix b = made(WeightFormat::bf16, 300, 65);
    a.pack_rows(0, source.view(), one);
    b.pack_rows(0, source.view(), three);
    QCOMPARE(std::memcmp(a.data(), b.data(), PanelMatrix::bytes_for(WeightFormat::bf16, 300, 65)), 0);
  }
};

LATHE_TEST(PanelMatrixTest)

}  // namespace panel_matrix_test
#include "panel_matrix_test.moc"
