// SPDX-License-Identifier: Apache-2.0
// Each chunk of a product is taken once, and totals pass through the chunks of a group in the order of k.
#include "kernels/cuda/layout/chunk_turns.h"

#include <QTest>
#include <utility>
#include <vector>

#include "tests/support/test_class.h"

namespace chunk_turns_test {

using namespace lathe::kernels::cuda;

namespace {

using Chunk = std::pair<int, int>;

/// The chunks of each warp of a team, in the order in which the warp takes them.
std::vector<std::vector<Chunk>> chunks_of_warps(const ChunkTurns& turns, int team) {
  std::vector<std::vector<Chunk>> of_warps(static_cast<std::size_t>(turns.n_warps));
  for (int warp = 0; warp < turns.n_warps; ++warp) {
    for (ChunkOfGroup at = turns.first_of(team, warp); turns.is_there(at); at = turns.next_of_warp(at))
      of_warps[static_cast<std::size_t>(warp)].emplace_back(at.group, at.chunk);
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
    QTest::addColumn<int>("n_teams");
    QTest::addColumn<int>("n_warps");
    QTest::newRow("more chunks than warps") << 16 << 7 << 3 << 8;
    QTest::newRow("fewer chunks than warps") << 3 << 11 << 2 << 8;
    QTest::newRow("one chunk") << 1 << 9 << 4 << 8;
    QTest::newRow("a group for each team") << 56 << 4 << 4 << 16;
    QTest::newRow("one warp") << 16 << 5 << 2 << 1;
    QTest::newRow("an odd number of chunks") << 17 << 5 << 1 << 4;
  }
  void totals_pass_through_all_chunks_in_order() {
    QFETCH(int, n_chunks);
    QFETCH(int, n_groups);
    QFETCH(int, n_teams);
    QFETCH(int, n_warps);
    const ChunkTurns turns{n_chunks, n_groups, n_teams, n_warps};
    std::size_t n_taken = 0;
    for (int team = 0; team < n_teams; ++team) {
      const auto of_warps = chunks_of_warps(turns, team);
      std::vector<std::size_t> taken(static_cast<std::size_t>(n_warps));
      int warp = 0;
      for (int group = team; group < n_groups; group += n_teams) {
        for (int chunk = 0; chunk < n_chunks; ++chunk) {
          const auto w = static_cast<std::size_t>(warp);
          QVERIFY(taken[w] < of_warps[w].size());
          QCOMPARE(of_warps[w][taken[w]++], Chunk(group, chunk));
          QCOMPARE(turns.has_next({group, chunk}), chunk + 1 < n_chunks || group + n_teams < n_groups);
          warp = turns.successor(warp);
          ++n_taken;
        }
      }
      for (std::size_t w = 0; w < of_warps.size(); ++w) QCOMPARE(of_warps[w].size(), taken[w]);
    }
    QCOMPARE(n_taken, static_cast<std::size_t>(n_groups * n_chunks));
  }

  void teams_of_a_block_have_equally_many_groups_data() {
    QTest::addColumn<int>("n_groups");
    QTest::addColumn<int>("most_warps");
    QTest::addColumn<int>("n_teams");
    QTest::newRow("a team for each group") << 7 << 16 << 7;
    QTest::newRow("two rounds") << 15 << 16 << 8;
    QTest::newRow("nine groups are five and four") << 9 << 16 << 5;
    QTest::newRow("no more teams than warps") << 8 << 4 << 4;
    QTest::newRow("no groups") << 0 << 16 << 1;
  }
  void teams_of_a_block_have_equally_many_groups() {
    QFETCH(int, n_groups);
    QFETCH(int, most_warps);
    QTEST(teams_of_block(n_groups, most_warps), "n_teams");
  }
};

LATHE_TEST(ChunkTurnsTest)

}  // namespace chunk_turns_test
#include "chunk_turns_test.moc"
