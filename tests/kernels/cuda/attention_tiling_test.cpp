// SPDX-License-Identifier: Apache-2.0
// Every row of a step is in one tile, with the position that it has; long contexts are divided where there is little else.
#include "kernels/cuda/layout/attention_tiling.h"

#include <QTest>
#include <set>

#include "tests/support/test_class.h"

namespace attention_tiling_test {

using namespace lathe::kernels;
using namespace lathe::kernels::cuda;

namespace {

constexpr int kProcessors = 132;

/// Sequences with so many rows at the end of contexts of those lengths.
class Step {
 public:
  Step(std::vector<std::int32_t> rows, std::vector<std::int32_t> contexts) : contexts_(std::move(contexts)) {
    starts_.push_back(0);
    for (const std::int32_t n : rows) starts_.push_back(starts_.back() + n);
  }
  AttentionBatch batch() const {
    return {
        .n_seqs = static_cast<int>(contexts_.size()), .query_start = starts_, .context_len = contexts_, .block_tables = {}};
  }
  AttentionTiling plan(int n_heads, int n_kv_heads, int head_dim = 128, bool is_causal = true) const {
    AttentionTiling plan;
    tile_attention(plan, batch(), is_causal, n_heads, {.n_kv_heads = n_kv_heads, .head_dim = head_dim}, kProcessors);
    return plan;
  }

 private:
  std::vector<std::int32_t> starts_, contexts_;
};

}  // namespace

class AttentionTilingTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_row_is_in_one_tile_of_its_sequence() {
    const Step step({1, 7, 48}, {70, 7, 130});
    const AttentionTiling plan = step.plan(32, 8);
    std::set<int> rows;
    for (const AttentionTile& tile : plan.tiles) {
      QVERIFY(tile.n_rows >= 1 && tile.n_rows * 4 <= plan.n_queries);
      for (int i = 0; i < tile.n_rows; ++i) {
        const int row = tile.row + i, seq = row == 0 ? 0 : row < 8 ? 1 : 2;
        QCOMPARE(tile.seq, seq);
        // The last row of a sequence stands at the end of its context.
        const int position = seq == 0 ? 69 : seq == 1 ? row - 1 : 130 - (56 - row);
        QCOMPARE(tile.position + i, position);
        QVERIFY(rows.insert(row).second);
      }
    }
    QCOMPARE(rows.size(), std::size_t{56});
  }

  void without_causality_all_rows_see_the_whole_context() {
    for (const AttentionTile& tile : Step({9}, {9}).plan(12, 12, 64, false).tiles) QCOMPARE(tile.position, 8);
  }

  void decoding_divides_long_contexts() {
    const AttentionTiling plan = Step({1}, {4096}).plan(32, 8);
    QCOMPARE(plan.n_parts, 4096 / kAttentionPart);
    QCOMPARE(plan.n_splits, plan.n_parts);  // 8 blocks are far from enough
    QCOMPARE(plan.n_queries, kFewQueries);
    const AttentionTiling two = Step({1, 1}, {40'000, 30}).plan(32, 8);
    QCOMPARE(two.n_splits, 17);  // 2 x 8 blocks, 264 wanted
  }

  void short_contexts_and_prompts_are_not_divided() {
    QCOMPARE(Step({1}, {200}).plan(32, 8).n_splits, 1);
    const AttentionTiling prompt = Step({512}, {2048}).plan(32, 8);
    QCOMPARE(prompt.n_splits, 1);
    QCOMPARE(prompt.n_queries, kManyQueries);
    QCOMPARE(prompt.tiles.size(), std::size_t{128});
  }

  void many_streams_are_not_divided() {
    const Step step(std::vector<std::int32_t>(64, 1), std::vector<std::int32_t>(64, 4096));
    QCOMPARE(step.plan(32, 8).n_splits, 1);
  }

  void large_groups_and_long_heads_have_tiles_of_one_row() {
    for (const AttentionTile& tile : Step({5}, {5}).plan(71, 1, 64).tiles) QCOMPARE(tile.n_rows, 1);
    const AttentionTiling latent = Step({5}, {5}).plan(16, 1, 576);
    QCOMPARE(latent.n_queries, kFewQueries);
    QCOMPARE(latent.tiles.size(), std::size_t{5});
  }

  void a_plan_is_used_again() {
    AttentionTiling plan = Step({40}, {40}).plan(8, 8);
    const Step next({1}, {3});
    tile_attention(plan, next.batch(), true, 8, {.n_kv_heads = 8, .head_dim = 128}, kProcessors);
    QCOMPARE(plan.tiles.size(), std::size_t{1});
    QCOMPARE(plan.n_parts, 1);
  }

  void parts_have_room_for_their_sums() {
    QCOMPARE(partial_floats(2, 32, 128, 16), std::int64_t{2 * 32 * 16 * 130});
    const AttentionTiling empty = Step({}, {}).plan(32, 8);
    QVERIFY(empty.tiles.empty());
    QCOMPARE(empty.n_splits, 1);
  }
};

LATHE_TEST(AttentionTilingTest)

}  // namespace attention_tiling_test
#include "attention_tiling_test.moc"
