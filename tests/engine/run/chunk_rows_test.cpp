// SPDX-License-Identifier: Apache-2.0
// The rows of a step, cut at the borders of chunks.
#include "engine/run/chunk_rows.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace chunk_rows_test {

using namespace lathe::engine;

namespace {

using Ids = std::vector<std::int32_t>;

Ids listed(std::span<const std::int32_t> ids) { return {ids.begin(), ids.end()}; }

}  // namespace

class ChunkRowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Chunks of 8 tokens in blocks of 4: a prompt of 11 rows that ends at 19 tokens, and one row at position 16.
  void rows_are_cut_where_a_chunk_ends() {
    const Ids starts{0, 11, 12}, lengths{19, 17}, tables{10, 11, 12, 13, 14, 20, 21, 22, 23, 24}, slots(12, 3);
    const KvRows rows{
        .slots = slots,
        .batch = {.n_seqs = 2, .query_start = starts, .context_len = lengths, .block_tables = tables, .max_blocks = 5}};
    ChunkRows cut;
    cut.cut({&rows, 1}, 8, 4);
    QCOMPARE(cut.rows().size(), std::size_t{1});
    const auto& batch = cut.rows().front().batch;
    QCOMPARE(batch.n_seqs, 3);
    QCOMPARE(batch.max_blocks, 2);
    QVERIFY(listed(batch.query_start) == (Ids{0, 8, 11, 12}));
    QVERIFY(listed(batch.context_len) == (Ids{8, 3, 1}));
    QVERIFY(listed(batch.block_tables) == (Ids{12, 13, 14, 0, 24, 0}));
    QVERIFY(cut.rows().front().slots.data() == slots.data());
  }

  void a_context_within_the_first_chunk_stays_as_it_is() {
    const Ids starts{0, 3}, lengths{7}, tables{5, 6}, slots(3, 0);
    const KvRows rows{
        .slots = slots,
        .batch = {.n_seqs = 1, .query_start = starts, .context_len = lengths, .block_tables = tables, .max_blocks = 2}};
    ChunkRows cut;
    cut.cut({&rows, 1}, 16, 4);
    const auto& batch = cut.rows().front().batch;
    QVERIFY(listed(batch.query_start) == starts && listed(batch.context_len) == lengths);
    QVERIFY(listed(batch.block_tables) == tables);
  }
};

LATHE_TEST(ChunkRowsTest)

}  // namespace chunk_rows_test
#include "chunk_rows_test.moc"
