// SPDX-License-Identifier: Apache-2.0
// Every weight has a place of its own, and it is the one that a tensor core looks at.
#include "kernels/cuda/layout/matrix_layout.h"

#include <QTest>
#include <set>
#include <vector>

#include "tests/support/test_class.h"

namespace matrix_layout_test {

using namespace lathe::kernels::cuda;

namespace {

MatrixLayout layout_of(Storage storage, std::int64_t n, std::int64_t k, ScaleKind scales = ScaleKind::none, int group = 0) {
  return {.n = n, .k = k, .storage = storage, .scales = scales, .group = group};
}

/// The row and the k of number j of the eight elements of A that a thread holds in mma.m16n8k16.
std::pair<int, int> place_of_a(int thread, int j) {
  return {thread / 4 + (j / 2 % 2 == 1 ? 8 : 0), thread % 4 * 2 + j % 2 + (j >= 4 ? 8 : 0)};
}

/// The same of the four of B: its column and its k.
std::pair<int, int> place_of_b(int thread, int j) { return {thread / 4, thread % 4 * 2 + j % 2 + (j >= 2 ? 8 : 0)}; }

}  // namespace

class MatrixLayoutTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_step_lies_as_a_tensor_core_takes_it() {
    for (int thread = 0; thread < kWarp; ++thread) {
      for (int j = 0; j < 8; ++j) {
        const auto [row, k] = place_of_a(thread, j);
        QCOMPARE(place_in_step(row, k), std::int64_t{thread * 8 + j});
      }
    }
  }

  void rows_of_x_lie_as_a_tensor_core_takes_them() {
    constexpr std::int64_t kSteps = 5;
    for (int thread = 0; thread < kWarp; ++thread) {
      for (int j = 0; j < 4; ++j) {
        const auto [column, k] = place_of_b(thread, j);
        QCOMPARE(x_place(column, k, kSteps), std::int64_t{thread * 4 + j});
        QCOMPARE(x_place(8 + column, 3 * kStep + k, kSteps), std::int64_t{(kSteps + 3) * 128 + thread * 4 + j});
      }
    }
  }

  void rows_of_x_in_blocks_are_swizzled() {
    constexpr std::int64_t kRowTiles = 3;
    std::set<std::int64_t> places;
    for (std::int64_t row = 0; row < kRowTiles * kRowTile; ++row) {
      for (std::int64_t k = 0; k < 2 * kQuad; ++k) {
        // The address of an unswizzled matrix with rows of 128 bytes, whose bits 4 to 6 are xored with bits 7 to 9.
        const std::int64_t plain = (k / kQuad * kRowTiles * kRowTile + row) * 128 + k % kQuad * 2;
        QCOMPARE(x_block_place(row, k, kRowTiles) * 2, plain ^ (plain >> 3 & 0x70));
        places.insert(x_block_place(row, k, kRowTiles));
      }
    }
    QCOMPARE(static_cast<std::int64_t>(places.size()), kRowTiles * kRowTile * 2 * kQuad);
    QCOMPARE(*places.rbegin(), kRowTiles * kRowTile * 2 * kQuad - 1);
  }

  void every_weight_has_a_place_of_its_own_data() {
    QTest::addColumn<int>("storage");
    QTest::addColumn<std::int64_t>("n_places");  // of 48 rows of 192
    QTest::newRow("bf16") << static_cast<int>(Storage::bf16) << std::int64_t{48 * 192};
    QTest::newRow("code8") << static_cast<int>(Storage::code8) << std::int64_t{48 * 192};
    QTest::newRow("e4m3") << static_cast<int>(Storage::e4m3) << std::int64_t{48 * 192};
    QTest::newRow("code4") << static_cast<int>(Storage::code4) << std::int64_t{48 * 192};
  }
  void every_weight_has_a_place_of_its_own() {
    QFETCH(int, storage);
    QFETCH(std::int64_t, n_places);
    const MatrixLayout layout = layout_of(static_cast<Storage>(storage), 40, 130);  // filled up to 48 x 192
    std::set<std::int64_t> places;
    for (std::int64_t row = 0; row < 48; ++row) {
      for (std::int64_t k = 0; k < 192; ++k) {
        const std::int64_t place = layout.place(row, k);
        QVERIFY(place >= 0 && place < n_places);
        places.insert(place);
      }
    }
    QCOMPARE(static_cast<std::int64_t>(places.size()), n_places);
  }

  void a_thread_reads_its_own_sixteen_bytes() {
    // Thread 5 of step 0 begins at its own 16 bytes, whatever a weight takes.
    const auto [row, k] = place_of_a(5, 0);
    QCOMPARE(layout_of(Storage::bf16, 16, 64).place(row, k) * 2, std::int64_t{5 * 16});
    QCOMPARE(layout_of(Storage::code8, 16, 64).place(row, k), std::int64_t{5 * 16});
    QCOMPARE(layout_of(Storage::code4, 16, 64).place(row, k) / 2, std::int64_t{5 * 16});
    // Its eight of step 1 follow in codes, and come 512 bytes later in bf16.
    QCOMPARE(layout_of(Storage::bf16, 16, 64).place(row, k + kStep) * 2, std::int64_t{512 + 5 * 16});
    QCOMPARE(layout_of(Storage::code8, 16, 64).place(row, k + kStep), std::int64_t{5 * 16 + 8});
    QCOMPARE(layout_of(Storage::code4, 16, 64).place(row, k + kStep) / 2, std::int64_t{5 * 16 + 4});
  }

  void neighbours_of_four_bits_come_out_of_one_mask() {
    const MatrixLayout layout = layout_of(Storage::code4, 16, 64);
    for (int j = 0; j < 8; j += 2) {
      const auto [row, k] = place_of_a(7, j);
      const std::int64_t first = layout.place(row, k), second = layout.place(row, k + 1);
      QCOMPARE(second - first, std::int64_t{4});  // 16 bits
      QCOMPARE(first % 8, std::int64_t{j / 2});
    }
  }

  void scales_of_rows_that_a_thread_has_are_neighbours() {
    const MatrixLayout layout = layout_of(Storage::code8, 32, 128, ScaleKind::half, 32);
    QCOMPARE(layout.n_groups(), std::int64_t{4});
    std::set<std::int64_t> places;
    for (std::int64_t row = 0; row < 32; ++row) {
      for (std::int64_t g = 0; g < 4; ++g) places.insert(layout.scale_place(row, g));
    }
    QCOMPARE(places.size(), std::size_t{32 * 4});
    QCOMPARE(*places.rbegin(), std::int64_t{32 * 4 - 1});
    for (std::int64_t row = 0; row < 8; ++row)
      QCOMPARE(layout.scale_place(16 + row + 8, 2), layout.scale_place(16 + row, 2) + 1);
  }

  void a_unit_has_one_scale() {
    QCOMPARE(layout_of(Storage::bf16, 16, 1024).unit(), std::int64_t{256});
    QCOMPARE(layout_of(Storage::bf16, 16, 1024 + 64).n_units(), std::int64_t{5});
    for (const int group : {16, 32, 64, 128, 256})
      QCOMPARE(layout_of(Storage::code4, 16, 1024, ScaleKind::half, group).unit(), std::int64_t{group});
    QCOMPARE(layout_of(Storage::code8, 16, 1024, ScaleKind::single).unit(), std::int64_t{256});
    QCOMPARE(layout_of(Storage::code8, 16, 1024, ScaleKind::single, 512).unit(), std::int64_t{256});
    QCOMPARE(layout_of(Storage::code8, 16, 130, ScaleKind::half, 128).n_units(), std::int64_t{2});
  }

  void sums_of_units_fill_their_memory_once() {
    for (const int unit : {16, 32, 64, 128, 256}) {
      const std::int64_t n_units = layout_of(Storage::code4, 16, 1024 + 64, ScaleKind::minimum, unit).n_units();
      std::set<std::int64_t> places;
      for (std::int64_t row = 0; row < 24; ++row) {
        for (std::int64_t i = 0; i < n_units; ++i) places.insert(unit_sum_place(row, i, units_of_quad(unit), 3));
      }
      QCOMPARE(static_cast<std::int64_t>(places.size()), 24 * n_units);
      QCOMPARE(*places.rbegin(), 24 * n_units - 1);
    }
    // The units of 64 k and of neighbouring row tiles are adjacent.
    QCOMPARE(unit_sum_place(8, 4, 4, 3) - unit_sum_place(0, 4, 4, 3), std::int64_t{32});
    QCOMPARE(unit_sum_place(0, 5, 4, 3) - unit_sum_place(0, 4, 4, 3), std::int64_t{8});
  }

  void sizes_count_what_is_filled_up() {
    QCOMPARE(layout_of(Storage::bf16, 33, 17).n_bytes(), std::int64_t{48 * 64 * 2});
    QCOMPARE(layout_of(Storage::rows_f32, 33, 17).n_bytes(), std::int64_t{33 * 128 * 4});
    QCOMPARE(layout_of(Storage::rows_f16, 33, 129).n_bytes(), std::int64_t{33 * 256 * 2});
    // Codes of 64 of k, and two groups of 32 of 48 rows.
    QCOMPARE(layout_of(Storage::code4, 33, 17, ScaleKind::half, 32).n_bytes(), std::int64_t{48 * 32 + 48 * 2 * 2});
    QCOMPARE(layout_of(Storage::code8, 33, 17, ScaleKind::minimum, 16).n_bytes(), std::int64_t{48 * 64 + 48 * 4 * 8});
    QCOMPARE(layout_of(Storage::e4m3, 33, 17, ScaleKind::single).n_bytes(), std::int64_t{48 * 64 + 48 * 4});
  }

  void scales_begin_where_vectors_can_be_read() {
    for (const Storage storage : {Storage::code8, Storage::code4, Storage::e4m3})
      QCOMPARE(layout_of(storage, 33, 17).weight_bytes() % 16, std::int64_t{0});
  }
};

LATHE_TEST(MatrixLayoutTest)

}  // namespace matrix_layout_test
#include "matrix_layout_test.moc"
