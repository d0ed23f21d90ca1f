// SPDX-License-Identifier: Apache-2.0
// Every chunk of every tile is computed once, and what one worker hands over is what the next one takes.
#include "kernels/cuda/layout/tile_split.h"

#include <QTest>
#include <vector>

#include "tests/support/test_class.h"

namespace tile_split_test {

using namespace lathe::kernels::cuda;

class TileSplitTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void parts_cover_each_tile_once_data() {
    QTest::addColumn<int>("n_tiles");
    QTest::addColumn<int>("n_chunks");
    QTest::addColumn<int>("n_workers");
    QTest::addColumn<bool>("is_split");
    QTest::newRow("fewer tiles than workers") << 64 << 16 << 132 << false;
    QTest::newRow("nearly full") << 128 << 16 << 132 << false;
    QTest::newRow("one wave and a half") << 192 << 16 << 132 << true;
    QTest::newRow("one tile too many") << 133 << 17 << 132 << true;
    QTest::newRow("whole tiles first") << 448 << 56 << 132 << true;
    QTest::newRow("many waves") << 3584 << 16 << 132 << false;
    QTest::newRow("a tile of one chunk") << 192 << 1 << 132 << true;
    QTest::newRow("one worker") << 5 << 3 << 1 << false;
  }
  void parts_cover_each_tile_once() {
    QFETCH(int, n_tiles);
    QFETCH(int, n_chunks);
    QFETCH(int, n_workers);
    QFETCH(bool, is_split);
    const TileSplit split = split_tiles(n_tiles, n_chunks, n_workers, true);
    QCOMPARE(split.n_whole < n_tiles, is_split);
    QCOMPARE(split_tiles(n_tiles, n_chunks, n_workers, false).n_whole, n_tiles);
    std::vector<int> n_times(static_cast<std::size_t>(n_tiles * n_chunks));
    TilePart handed;  // by the worker before
    for (int worker = 0; worker < split.n_workers; ++worker) {
      TilePart taken, next;
      int n_computed = 0;
      for (PartWalk walk(split, worker); walk.has_part(); walk.advance()) {
        const TilePart& part = walk.part();
        QVERIFY(taken.end == 0);  // the tile that it continues is its last one
        QVERIFY(!walk.hands_over() || !walk.continues());
        if (walk.hands_over()) next = part;
        if (walk.continues()) taken = part;
        for (int chunk = part.begin; chunk < part.end; ++chunk)
          ++n_times[static_cast<std::size_t>(part.tile * n_chunks + chunk)];
        n_computed += part.end - part.begin;
      }
      QCOMPARE(taken.begin, handed.end);
      QCOMPARE(taken.end != 0 ? taken.tile : 0, handed.end != 0 ? handed.tile : 0);
      const int n_all = n_tiles * n_chunks;
      if (is_split) QVERIFY(n_computed >= n_all / n_workers && n_computed <= n_all / n_workers + 1);
      handed = next;
    }
    QCOMPARE(handed.end, 0);
    for (const int count : n_times) QCOMPARE(count, 1);
  }
};

LATHE_TEST(TileSplitTest)

}  // namespace tile_split_test
#include "tile_split_test.moc"
