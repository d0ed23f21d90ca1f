// SPDX-License-Identifier: Apache-2.0
// Every tile of a product is computed once, and tiles that are computed at the same time are neighbours.
#include "kernels/cuda/layout/tile_order.h"

#include <QTest>
#include <set>
#include <utility>

#include "tests/support/test_class.h"

namespace tile_order_test {

using namespace lathe::kernels::cuda;

class TileOrderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_tile_is_computed_once_data() {
    QTest::addColumn<int>("n_out");
    QTest::addColumn<int>("n_row");
    QTest::addColumn<int>("band");
    QTest::newRow("one tile") << 1 << 1 << 8;
    QTest::newRow("less than a band") << 5 << 7 << 8;
    QTest::newRow("whole bands") << 16 << 4 << 8;
    QTest::newRow("a narrow last band") << 19 << 3 << 8;
    QTest::newRow("bands of one") << 4 << 3 << 1;
  }
  void every_tile_is_computed_once() {
    QFETCH(int, n_out);
    QFETCH(int, n_row);
    QFETCH(int, band);
    const TileOrder order{.n_out = n_out, .n_row = n_row, .band = band};
    std::set<std::pair<int, int>> places;
    for (int i = 0; i < order.n_tiles(); ++i) {
      const TilePlace place = order.place(i);
      QVERIFY(place.out >= 0 && place.out < n_out && place.row >= 0 && place.row < n_row);
      places.insert({place.out, place.row});
    }
    QCOMPARE(static_cast<int>(places.size()), n_out * n_row);
  }

  void tiles_at_the_same_time_share_operands() {
    const TileOrder order{.n_out = 32, .n_row = 32, .band = 8};
    for (int begin = 0; begin + 128 <= order.n_tiles(); begin += 128) {
      std::set<int> outs, rows;
      for (int i = begin; i < begin + 128; ++i) {
        outs.insert(order.place(i).out);
        rows.insert(order.place(i).row);
      }
      QCOMPARE(outs.size(), std::size_t{8});
      QCOMPARE(rows.size(), std::size_t{16});
    }
  }
};

LATHE_TEST(TileOrderTest)

}  // namespace tile_order_test
#include "tile_order_test.moc"
