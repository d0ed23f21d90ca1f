// SPDX-License-Identifier: Apache-2.0
// Each chunk of a product is taken once, and totals pass through the chunks of a group in the order of k.
#include "kernels/cuda/layout/chunk_turns.h"

#include <QTest>
#include <map>
#include <utility>
#include <vector>

using namespace lathe::kernels::cuda;

namespace {

using Chunk = std::pair<int, int>;

/// The chunks of each warp of a cluster, in the order in which the warp takes them.
std::map<Chunk, std::vector<Chunk>> chunks_of_warps(const ChunkTurns& turns, int cluster) {
  std::map<Chunk, std::vector<Chunk>> of_warps;
  for (int rank = 0; rank < turns.cluster_size; ++rank) {
    for (int warp = 0; warp < turns.n_warps; ++warp) {
      std::vector<Chunk>& own = of_warps[{rank, warp}];
      for (ChunkOfGroup at = turns.first_of(cluster, {rank, warp}); turns.is_there(at); at = turns.next_of_warp(at))
        own.emplace_back(at.group, at.chunk);
    }
  }
  return of_warps;
}

}  // namespace

class ChunkTurnsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void totals_pass_through_all_chunks_in_order_data() {
    QTest::addColumn<int>("n_chunks");
    QTest::addColumn<int>("n_groups");
    QTest::addColumn<int>("n_clusters");
    QTest::addColumn<int>("cluster_size");
    QTest::addColumn<int>("n_warps");
    QTest::newRow("more chunks than warps") << 16 << 7 << 3 << 1 << 8;
    QTest::newRow("fewer chunks than warps") << 3 << 11 << 2 << 1 << 8;
    QTest::newRow("one chunk") << 1 << 9 << 4 << 1 << 8;
    QTest::newRow("a group for each cluster") << 56 << 4 << 4 << 1 << 16;
    QTest::newRow("pairs of blocks") << 16 << 5 << 2 << 2 << 8;
    QTest::newRow("four blocks, an odd number of chunks") << 17 << 5 << 1 << 4 << 8;
  }
  void totals_pass_through_all_chunks_in_order() {
    QFETCH(int, n_chunks);
    QFETCH(int, n_groups);
    QFETCH(int, n_clusters);
    QFETCH(int, cluster_size);
    QFETCH(int, n_warps);
    const ChunkTurns turns{n_chunks, n_groups, n_clusters, cluster_size, n_warps};
    std::size_t n_taken = 0;
    for (int cluster = 0; cluster < n_clusters; ++cluster) {
      const auto of_warps = chunks_of_warps(turns, cluster);
      std::map<Chunk, std::size_t> taken;
      WarpOfCluster warp;
      for (int group = cluster; group < n_groups; group += n_clusters) {
        for (int chunk = 0; chunk < n_chunks; ++chunk) {
          const std::vector<Chunk>& own = of_warps.at({warp.rank, warp.warp});
          const std::size_t at = taken[{warp.rank, warp.warp}]++;
          QVERIFY(at < own.size());
          QCOMPARE(own[at], Chunk(group, chunk));
          QCOMPARE(turns.has_next({group, chunk}), chunk + 1 < n_chunks || group + n_clusters < n_groups);
          warp = turns.successor(warp);
          ++n_taken;
        }
      }
      for (const auto& [of, own] : of_warps) QCOMPARE(own.size(), taken[of]);
    }
    QCOMPARE(n_taken, static_cast<std::size_t>(n_groups * n_chunks));
  }
};

QTEST_GUILESS_MAIN(ChunkTurnsTest)
#include "chunk_turns_test.moc"
