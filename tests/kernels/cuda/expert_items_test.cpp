// SPDX-License-Identifier: Apache-2.0
// Each row of an expert is in one item of each group of tiles, whatever the rows of the experts and the blocks.
#include "kernels/cuda/layout/expert_items.h"

#include <QTest>
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "tests/support/test_class.h"

namespace expert_items_test {

using namespace lathe::kernels::cuda;

namespace {

/// The list of experts that ops/place_rows.cu writes.
std::vector<ExpertRows> list_of(const std::vector<int>& n_rows) {
  std::vector<ExpertRows> list;
  std::int32_t slot = 0, slice = 0;
  for (std::size_t e = 0; e < n_rows.size(); ++e) {
    if (n_rows[e] == 0) continue;
    list.push_back({static_cast<std::int32_t>(e), slot, n_rows[e], slice});
    slot += slots_of(n_rows[e]);
    slice += slices_of(n_rows[e]);
  }
  return list;
}

}  // namespace

class ExpertItemsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void each_row_is_in_an_item_of_each_group_data() {
    QTest::addColumn<QList<int>>("n_rows");
    QTest::addColumn<int>("n_groups");
    QTest::addColumn<int>("n_blocks");
    QTest::newRow("one row") << QList<int>{0, 0, 1} << 48 << 132;
    QTest::newRow("slices") << QList<int>{33, 0, 8, 300, 32, 1} << 7 << 132;
    QTest::newRow("fewer items than blocks") << QList<int>{1, 1} << 3 << 132;
    QTest::newRow("one block") << QList<int>{5, 64, 65} << 11 << 1;
    QTest::newRow("no rows") << QList<int>{0, 0} << 4 << 8;
  }
  void each_row_is_in_an_item_of_each_group() {
    QFETCH(QList<int>, n_rows);
    QFETCH(int, n_groups);
    QFETCH(int, n_blocks);
    const std::vector<ExpertRows> list = list_of({n_rows.begin(), n_rows.end()});
    std::int64_t n_slices = 0;
    for (const ExpertRows& one : list) n_slices += slices_of(one.n_rows);
    const std::int64_t n_items = n_slices * n_groups;
    std::set<std::tuple<int, int, int>> seen;  // expert, row of the expert, group
    std::map<int, int> expert_of_slot;
    std::int64_t next = 0;
    for (std::int64_t block = 0; block < n_blocks; ++block) {
      QCOMPARE(first_item(block, n_blocks, n_items), next);
      const std::int64_t end = first_item(block + 1, n_blocks, n_items);
      QVERIFY(end - next <= n_items / n_blocks + 1);
      for (; next < end; ++next) {
        const auto after = std::find_if(list.begin(), list.end(), [&](const ExpertRows& one) {
          return std::int64_t{one.first_slice} * n_groups > next;
        });
        const ExpertRows& rows = *(after - 1);
        const ExpertItem item = item_of(rows, next, n_groups);
        QCOMPARE(item.expert, rows.expert);
        QVERIFY(item.n_rows > 0 && item.n_rows <= kSliceRows && item.first_slot % kRowTile == 0);
        for (int row = 0; row < item.n_rows; ++row) {
          const int slot = item.first_slot + row;
          QVERIFY(expert_of_slot.try_emplace(slot, item.expert).first->second == item.expert);
          QVERIFY(seen.emplace(item.expert, slot - rows.first_slot, item.group).second);
        }
      }
    }
    QCOMPARE(next, n_items);
    std::size_t n_rows_in_all = 0;
    for (const ExpertRows& one : list) n_rows_in_all += static_cast<std::size_t>(one.n_rows);
    QCOMPARE(seen.size(), n_rows_in_all * static_cast<std::size_t>(n_groups));
    QCOMPARE(expert_of_slot.size(), n_rows_in_all);
    for (const auto& [expert, row, group] : seen) QVERIFY(row < n_rows[expert] && group < n_groups);
  }

  /// Slices of a group of tiles follow each other, so that its weights are read once.
  void slices_of_a_group_are_adjacent() {
    const ExpertRows rows{.expert = 3, .first_slot = 16, .n_rows = 70, .first_slice = 2};
    for (int i = 0; i < 3 * 5; ++i) {
      const ExpertItem item = item_of(rows, 2 * 5 + i, 5);
      QCOMPARE(item.group, i / 3);
      QCOMPARE(item.first_slot, 16 + i % 3 * kSliceRows);
      QCOMPARE(item.n_rows, i % 3 == 2 ? 6 : kSliceRows);
    }
  }

  void slots_have_room() {
    for (const auto& [n_pairs, n_experts] : {std::pair{8, 128}, std::pair{256, 128}, std::pair{256, 8}, std::pair{1, 1}}) {
      std::vector<int> n_rows(static_cast<std::size_t>(n_experts));
      for (int pair = 0; pair < n_pairs; ++pair) ++n_rows[static_cast<std::size_t>(pair * 7 % n_experts)];
      int n_slots = 0;
      for (const int n : n_rows) n_slots += slots_of(n);
      QVERIFY(n_slots <= most_slots(n_pairs, n_experts));
    }
    QCOMPARE(most_slots(3, 128), std::int64_t{3 * kRowTile});
  }
};

LATHE_TEST(ExpertItemsTest)

}  // namespace expert_items_test
#include "expert_items_test.moc"
