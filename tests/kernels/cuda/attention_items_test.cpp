// SPDX-License-Identifier: Apache-2.0
// Every part of every row's context is computed once, by an item or by a tile of a prompt.
#include "kernels/cuda/layout/attention_items.h"

#include <QTest>
#include <set>
#include <tuple>

#include "tests/support/test_class.h"

namespace attention_items_test {

using namespace lathe::kernels;
using namespace lathe::kernels::cuda;

namespace {

/// Sequences with so many rows at the end of contexts of those lengths.
class Step {
 public:
  Step(std::vector<std::int32_t> rows, std::vector<std::int32_t> contexts) : contexts_(std::move(contexts)) {
    starts_.push_back(0);
    for (const std::int32_t n : rows) starts_.push_back(starts_.back() + n);
  }
  struct Form {
    int group = 4;
    int window = 0;
    bool is_causal = true;
    bool has_items = true;
    int n_prompt_queries = kPromptQueries;
  };
  TensorTiling plan(const Form& form) const {
    TensorTiling plan;
    divide(plan, form);
    return plan;
  }
  void divide(TensorTiling& plan, const Form& form) const {
    const AttentionBatch batch{
        .n_seqs = static_cast<int>(contexts_.size()), .query_start = starts_, .context_len = contexts_, .block_tables = {}};
    divide_attention(plan, batch, form.is_causal, form.window, form.group, form.n_prompt_queries, form.has_items);
  }

  using Part = std::tuple<int, int, int>;  ///< sequence, row, index of the part
  /// Parts that the rows attend to.
  std::set<Part> wanted(const Form& form) const {
    std::set<Part> parts;
    for (std::size_t seq = 0; seq < contexts_.size(); ++seq) {
      for (int row = starts_[seq]; row < starts_[seq + 1]; ++row) {
        const int last = contexts_[seq] - (form.is_causal ? starts_[seq + 1] - row : 1);
        const int first = form.window > 0 ? std::max(0, last + 1 - form.window) : 0;
        for (int part = first / kAttentionPart; part <= last / kAttentionPart; ++part)
          parts.emplace(static_cast<int>(seq), row, part);
      }
    }
    return parts;
  }

 private:
  std::vector<std::int32_t> starts_, contexts_;
};

/// Parts of the rows' contexts that a plan computes; a part that is computed twice fails the test.
std::set<Step::Part> computed(const TensorTiling& plan, const Step::Form& form) {
  std::set<Step::Part> parts;
  const auto add = [&](const AttentionTile& tile, int i, int part) {
    const int last = tile.position + (form.is_causal ? i : 0);
    const int first = form.window > 0 ? std::max(0, last + 1 - form.window) : 0;
    if (part < first / kAttentionPart || part > last / kAttentionPart) return;  // tokens that this row does not attend to
    QVERIFY(parts.emplace(tile.seq, tile.row + i, part).second);
  };
  for (const AttentionItem& item : plan.items)
    for (int i = 0; i < item.tile.n_rows; ++i) add(item.tile, i, item.part);
  for (const AttentionTile& tile : plan.tiles)
    for (int i = 0; i < tile.n_rows; ++i)
      for (int part = 0; part <= (tile.position + tile.n_rows) / kAttentionPart; ++part) add(tile, i, part);
  return parts;
}

}  // namespace

class AttentionItemsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_part_is_computed_once_data() {
    QTest::addColumn<int>("group");
    QTest::addColumn<int>("window");
    QTest::addColumn<bool>("is_causal");
    QTest::addColumn<bool>("has_items");
    for (const int group : {1, 3, 4, 7, 16, 20, 71}) {
      for (const int window : {0, 1, 100, 256, 300}) {
        for (const int form : {0, 1, 2, 3})
          QTest::addRow("group %d, window %d, form %d", group, window, form)
              << group << window << (form % 2 == 0) << (form < 2);
      }
    }
  }
  void every_part_is_computed_once() {
    QFETCH(const int, group);
    QFETCH(const int, window);
    QFETCH(const bool, is_causal);
    QFETCH(const bool, has_items);
    for (const int n_prompt_queries : {kPromptQueries, kWidePromptQueries}) {
      const Step::Form form{group, window, is_causal, has_items, n_prompt_queries};
      const Step step({1, 7, 48, 0, 1, 300, 5}, {70, 7, 1130, 9, 2049, 700, 258});
      const TensorTiling plan = step.plan(form);
      QCOMPARE(computed(plan, form), step.wanted(form));
      QVERIFY(has_items || plan.items.empty());
      for (const AttentionTile& tile : plan.tiles) QVERIFY(tile.n_rows == 1 || tile.n_rows * group <= n_prompt_queries);
      for (const AttentionItem& item : plan.items) {
        QVERIFY(item.tile.n_rows == 1 || item.tile.n_rows * group <= kQueryTile);
        QVERIFY(item.tile.n_rows * std::min(group, kQueryTile) <= plan.n_few_queries);
      }
    }
  }

  void items_of_a_tile_are_adjacent_and_ascend() {
    const TensorTiling plan = Step({1, 6, 1}, {1000, 600, 20}).plan({.group = 4});
    std::set<int> tiles;
    for (std::size_t begin = 0; begin < plan.items.size();) {
      const AttentionItem& first = plan.items[begin];
      QCOMPARE(first.part, first.first_part);
      QVERIFY(tiles.insert(first.index).second && first.index < plan.n_item_tiles);
      for (int i = 0; i < first.n_parts; ++i) {
        const AttentionItem& item = plan.items[begin + static_cast<std::size_t>(i)];
        QVERIFY(item.part == first.first_part + i && item.n_parts == first.n_parts && item.index == first.index);
      }
      begin += static_cast<std::size_t>(first.n_parts);
    }
    QCOMPARE(std::ssize(tiles), static_cast<std::ptrdiff_t>(plan.n_item_tiles));
    QCOMPARE(plan.n_item_tiles, 4);  // 1, then 4 + 2 rows, then 1
    QVERIFY(plan.merges);
    QVERIFY(!Step({1}, {256}).plan({}).merges);
    QVERIFY(Step({1}, {257}).plan({}).merges);
    QVERIFY(!Step({1}, {512}).plan({.window = 256}).merges);
    QVERIFY(Step({1}, {511}).plan({.window = 256}).merges);
  }

  void sequences_with_many_rows_are_in_tiles() {
    QCOMPARE(Step({16}, {16}).plan({.group = 4}).n_item_tiles, kMostFewTiles);
    const TensorTiling prompt = Step({17}, {17}).plan({.group = 4});
    QCOMPARE(prompt.n_item_tiles, 0);
    QCOMPARE(prompt.tiles.size(), std::size_t{2});
  }

  void tiles_with_the_longest_contexts_are_first() {
    const TensorTiling plan = Step({100, 300, 200}, {100, 5000, 900}).plan({});
    QCOMPARE(plan.tiles.front().seq, 1);
    for (std::size_t i = 1; i < plan.tiles.size(); ++i) {
      const AttentionTile &before = plan.tiles[i - 1], &tile = plan.tiles[i];
      QVERIFY(before.position + before.n_rows >= tile.position + tile.n_rows);
    }
  }

  void a_plan_is_used_again() {
    TensorTiling plan = Step({1, 300}, {1000, 300}).plan({});
    Step({1}, {3}).divide(plan, {});
    QCOMPARE(plan.items.size(), std::size_t{1});
    QVERIFY(plan.tiles.empty() && !plan.merges);
    QCOMPARE(plan.n_item_tiles, 1);
    QCOMPARE(plan.n_few_queries, 4);
    Step({}, {}).divide(plan, {});
    QVERIFY(plan.items.empty() && plan.tiles.empty());
  }

  void runs_have_whole_tiles() {
    const TensorTiling plan = Step({1, 1, 1, 1}, {2560, 300, 256, 600}).plan({});  // 10, 2, 1 and 3 items
    const auto ends = [&](std::int64_t most) {
      std::vector<ItemRun> runs;
      divide_items(runs, plan.items, most);
      std::vector<int> list;
      for (const ItemRun& run : runs) {
        if (run.begin != (list.empty() ? 0 : list.back())) return std::vector<int>{-1};
        list.push_back(run.end);
      }
      return list;
    };
    QCOMPARE(ends(1000), (std::vector<int>{16}));
    QCOMPARE(ends(16), (std::vector<int>{16}));
    QCOMPARE(ends(15), (std::vector<int>{13, 16}));
    QCOMPARE(ends(12), (std::vector<int>{12, 16}));
    QCOMPARE(ends(3), (std::vector<int>{10, 13, 16}));
    QCOMPARE(ends(0), (std::vector<int>{10, 12, 13, 16}));
    std::vector<ItemRun> runs{{0, 1}};
    divide_items(runs, {}, 7);
    QVERIFY(runs.empty());
  }
};

LATHE_TEST(AttentionItemsTest)

}  // namespace attention_items_test
#include "attention_items_test.moc"
