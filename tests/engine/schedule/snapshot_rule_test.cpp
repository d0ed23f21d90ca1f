// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/snapshot_rule.h"

#include <QTest>
#include <limits>
#include <vector>

#include "tests/support/test_class.h"

namespace snapshot_rule_test {

using lathe::engine::SnapshotRule;

namespace {

using Borders = std::vector<int>;

Borders borders_of(const SnapshotRule& rule, int begin, int end) {
  Borders borders;
  for (int n = rule.next(begin); n <= end; n = rule.next(n)) borders.push_back(n);
  return borders;
}

}  // namespace

class SnapshotRuleTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_prompt_has_one_at_its_last_block_that_can_be_found() {
    QCOMPARE(borders_of({.n_tokens = 100}, 0, 100), (Borders{96}));
    QCOMPARE(borders_of({.n_tokens = 97}, 0, 97), (Borders{96}));
    QCOMPARE(borders_of({.n_tokens = 96}, 0, 96), (Borders{80}));  // the last token is never taken from the cache
    QCOMPARE(borders_of({.n_tokens = 100}, 96, 100), Borders());
    QCOMPARE(borders_of({.n_tokens = 16}, 0, 16), Borders());
    QCOMPARE(borders_of({.n_tokens = 1}, 0, 1), Borders());
    QCOMPARE(borders_of({.block_size = 1, .n_tokens = 5}, 0, 5), (Borders{4}));
  }

  void long_prompts_have_at_most_four_more_data() {
    QTest::addColumn<int>("block_size");
    QTest::addColumn<int>("n_tokens");
    for (const int block_size : {1, 16, 48, 256}) {
      for (const int n_tokens : {511, 513, 2048, 2049, 2561, 5000, 40'000, 1'000'000}) {
        QTest::addRow("%d tokens in blocks of %d", n_tokens, block_size) << block_size << n_tokens;
      }
    }
  }
  void long_prompts_have_at_most_four_more() {
    QFETCH(int, block_size);
    QFETCH(int, n_tokens);
    const SnapshotRule rule{.block_size = block_size, .n_tokens = n_tokens};
    const Borders borders = borders_of(rule, 0, n_tokens);
    QVERIFY(borders.size() <= SnapshotRule::kMaxIntervals + 1);
    QVERIFY(n_tokens < 2000 || borders.size() >= 3);
    for (const int border : borders) QVERIFY(border % block_size == 0 && border < n_tokens);
    // In any division into steps the same ones.
    Borders parts;
    for (int begin = 0; begin < n_tokens; begin += 700) {
      const Borders part = borders_of(rule, begin, std::min(begin + 700, n_tokens));
      parts.insert(parts.end(), part.begin(), part.end());
    }
    QCOMPARE(parts, borders);
  }

  void prompts_of_different_lengths_share_borders() {
    const Borders longer = borders_of({.n_tokens = 9000}, 0, 9000), shorter = borders_of({.n_tokens = 4300}, 0, 4300);
    QCOMPARE(shorter, (Borders{1024, 2048, 3072, 4096, 4288}));
    QCOMPARE(longer, (Borders{2048, 4096, 6144, 8192, 8992}));
  }

  void where_prompts_part_is_a_border() {
    QCOMPARE(borders_of({.n_tokens = 400, .branch = 240}, 0, 400), (Borders{240, 384}));
    QCOMPARE(borders_of({.n_tokens = 400, .branch = 240}, 240, 400), (Borders{384}));
    QCOMPARE(borders_of({.n_tokens = 400, .branch = 384}, 0, 400), (Borders{384}));
  }

  void an_answer_has_one_every_64_tokens() {
    const SnapshotRule rule{.n_tokens = 1, .in_prefill = false};
    QCOMPARE(borders_of(rule, 100, 300), (Borders{128, 192, 256}));
    QCOMPARE(borders_of({.block_size = 48, .in_prefill = false}, 0, 300), (Borders{96, 192, 288}));
    QCOMPARE(borders_of({.block_size = 256, .in_prefill = false}, 0, 300), (Borders{256}));
    constexpr int kMost = std::numeric_limits<int>::max();
    QCOMPARE(rule.next(kMost - 3), kMost);
  }
};

LATHE_TEST(SnapshotRuleTest)

}  // namespace snapshot_rule_test
#include "snapshot_rule_test.moc"
