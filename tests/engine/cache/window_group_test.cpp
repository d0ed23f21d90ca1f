// SPDX-License-Identifier: Apache-2.0
// Layers that see a window beside layers that see more: blocks of their own, given back by themselves, and hits that both
// can continue.
#include <QTest>

#include "engine/cache/paged_cache.h"
#include "tests/support/test_class.h"
#include "tests/support/token_ids.h"

namespace window_group_test {

using namespace lathe::engine;
using lathe::tests::count_from;

namespace {

using Ids = std::vector<std::int32_t>;

constexpr int kSize = 4;    // tokens of a block
constexpr int kWindow = 8;  // of the layers that see less

PagedCache cache_of(int n_window_blocks, std::int64_t window = 0, int n_blocks = 64) {
  const WindowPool shape{.window = kWindow, .n_blocks = n_window_blocks};
  return {n_blocks, kSize, true, window, std::span(&shape, 1)};
}

const BlockPool& window_pool(const PagedCache& cache) { return cache.windows().front().pool(); }

/// Computes tokens up to n as an engine does, `chunk` at a time.
void compute(PagedCache& cache, BlockTable& table, const Ids& tokens, int n, int chunk = kSize) {
  for (int end = table.n_published * kSize; end < n;) {
    end = std::min(end + chunk, n);
    QVERIFY(cache.grow(table, end));
    cache.grow_windows(table, end);
    cache.publish(table, tokens, end, "");
    cache.drop_behind_window(table, end);
    QVERIFY(cache.windows().front().consistent(cache.pool()));
  }
}

/// Fills the window group with other content, so that what nobody holds is lost there alone.
void crowd_out(PagedCache& cache, int n_tokens) {
  BlockTable other;
  compute(cache, other, count_from(5000, n_tokens), n_tokens, n_tokens);
  cache.release(other);
}

}  // namespace

class WindowGroupTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_first_block_that_is_needed_data();
  void the_first_block_that_is_needed();
  void each_group_gives_back_what_it_does_not_see();
  void held_blocks_are_bounded_data();
  void held_blocks_are_bounded();
  void a_hit_takes_of_each_group_what_it_sees();
  void a_hit_ends_where_a_window_is_still_there();
  void a_hit_without_any_window_is_none();
  void what_was_lost_is_found_again_when_it_is_computed_again();
  void losing_the_prefix_loses_what_lies_beside_it();
  void equal_prefixes_side_by_side_are_kept_once();
  void retracting_forgets_both();
  void retracting_leaves_what_others_use();
  void a_window_beside_a_longer_one();
  void without_sharing_nothing_is_found();
};

void WindowGroupTest::the_first_block_that_is_needed_data() {
  QTest::addColumn<int>("n_computed");
  QTest::addColumn<int>("window");
  QTest::addColumn<int>("n_behind");
  QTest::newRow("all are needed") << 1000 << 0 << 0;
  QTest::newRow("nothing computed") << 0 << 8 << 0;
  QTest::newRow("the window reaches the start") << 7 << 8 << 0;
  QTest::newRow("one block is passed") << 11 << 8 << 1;
  QTest::newRow("not quite two") << 14 << 8 << 1;
  QTest::newRow("two") << 15 << 8 << 2;
  QTest::newRow("the last full block stays") << 16 << 1 << 3;
  QTest::newRow("and so it does when another has begun") << 18 << 1 << 3;
}

/// Row n_computed sees the tokens from n_computed + 1 - window on.
void WindowGroupTest::the_first_block_that_is_needed() {
  QFETCH(int, n_computed);
  QFETCH(int, window);
  QTEST(n_behind_window(n_computed, window, kSize), "n_behind");
}

void WindowGroupTest::each_group_gives_back_what_it_does_not_see() {
  PagedCache cache = cache_of(64);
  BlockTable table;
  compute(cache, table, count_from(0, 64), 64);
  QCOMPARE(table.n_held(), 16);
  QCOMPARE(table.windows.front().n_held(), 2);  // the next row is token 64 and sees 57 to 64
  QCOMPARE(cache.pool().n_used(), 16);
  QCOMPARE(window_pool(cache).n_used(), 2);
  QCOMPARE(window_pool(cache).n_cached(), 14);
  cache.release(table);
  QCOMPARE(cache.pool().n_used(), 0);
  QCOMPARE(window_pool(cache).n_used(), 0);
}

void WindowGroupTest::held_blocks_are_bounded_data() {
  QTest::addColumn<int>("window");
  QTest::addColumn<int>("chunk");
  for (const int window : {1, 3, 4, 5, 8, 13, 30}) {
    for (const int chunk : {1, 2, 4, 7, 16}) QTest::addRow("window %d, chunks of %d", window, chunk) << window << chunk;
  }
}

/// The pool has exactly the bound, so that one block too many would end the program.
void WindowGroupTest::held_blocks_are_bounded() {
  QFETCH(int, window);
  QFETCH(int, chunk);
  constexpr int kTokens = 200;
  const WindowPool shape{.window = window, .n_blocks = static_cast<int>(peak_blocks(kTokens, window, chunk, kSize))};
  PagedCache cache(60, kSize, true, 0, std::span(&shape, 1));
  BlockTable table;
  compute(cache, table, count_from(0, kTokens), kTokens, chunk);
  QCOMPARE(table.n_held(), kTokens / kSize);
  const BlockRow& row = table.windows.front();
  for (std::int64_t i = (kTokens + 1 - window) / kSize; i < std::ssize(row.blocks); ++i) {
    QVERIFY(row.blocks[static_cast<std::size_t>(i)] >= 0);
  }
}

void WindowGroupTest::a_hit_takes_of_each_group_what_it_sees() {
  PagedCache cache = cache_of(64);
  BlockTable first, second;
  const Ids tokens = count_from(0, 65);
  compute(cache, first, tokens, 64);
  const std::vector<std::int32_t> seen(first.windows.front().blocks.end() - 2, first.windows.front().blocks.end());
  cache.release(first);
  QCOMPARE(cache.match(tokens, "").n_blocks, 16);
  QCOMPARE(cache.adopt_match(second), 64);
  const BlockRow& row = second.windows.front();
  QCOMPARE(second.n_held(), 16);
  QCOMPARE(row.n_dropped, 14);
  QCOMPARE(std::vector(row.held().begin(), row.held().end()), seen);
  QCOMPARE(window_pool(cache).n_used(), 2);
  cache.release(second);
  QCOMPARE(window_pool(cache).n_used(), 0);
}

/// Ten blocks in the window group: of the sixteen that were computed the last ten are there.
void WindowGroupTest::a_hit_ends_where_a_window_is_still_there() {
  PagedCache cache = cache_of(10);
  BlockTable first, second;
  const Ids tokens = count_from(0, 65);
  compute(cache, first, tokens, 64);
  QCOMPARE(cache.match(tokens, "").n_blocks, 16);
  // Prompts that leave the common part. Row 32 sees blocks 6 and 7, the first that are left.
  const std::vector<std::pair<int, int>> blocks_found{{24, 0}, {28, 0}, {32, 8}, {40, 10}};
  for (const auto& [n_common, n_found] : blocks_found) {
    Ids other = count_from(0, n_common);
    other.resize(65, 9999);
    QCOMPARE(cache.match(other, "").n_blocks, n_found);
  }
  cache.release(first);
  // The end of the prefix is held longest, for it was given back last.
  crowd_out(cache, 4);
  QCOMPARE(cache.match(tokens, "").n_blocks, 16);
  QCOMPARE(cache.adopt_match(second), 64);
  cache.release(second);
}

void WindowGroupTest::a_hit_without_any_window_is_none() {
  PagedCache cache = cache_of(10);
  BlockTable first;
  const Ids tokens = count_from(0, 65);
  compute(cache, first, tokens, 64);
  cache.release(first);
  crowd_out(cache, 40);
  QVERIFY(cache.pool().n_cached() >= 16);  // all of it is known in the first group
  QCOMPARE(cache.match(tokens, "").n_blocks, 0);
  QCOMPARE(cache.match(tokens, "").n_wanted, 0);
}

/// The first group gives up its second copy for the one that is known; the window group puts its own beside that.
void WindowGroupTest::what_was_lost_is_found_again_when_it_is_computed_again() {
  PagedCache cache = cache_of(10);
  BlockTable first, second;
  const Ids tokens = count_from(0, 65);
  compute(cache, first, tokens, 64);
  const std::vector<std::int32_t> known = first.blocks;
  cache.release(first);
  crowd_out(cache, 40);
  compute(cache, second, tokens, 64);
  QCOMPARE(second.blocks, known);
  QCOMPARE(cache.match(tokens, "").n_blocks, 16);
  cache.release(second);
  QCOMPARE(cache.pool().n_used(), 0);
}

void WindowGroupTest::losing_the_prefix_loses_what_lies_beside_it() {
  PagedCache cache = cache_of(32, 0, 16);
  BlockTable first, other;
  compute(cache, first, count_from(0, 64), 64);
  cache.release(first);
  QCOMPARE(window_pool(cache).n_cached(), 16);
  compute(cache, other, count_from(500, 12), 12);  // takes the three that end the prefix
  QCOMPARE(window_pool(cache).n_cached(), 13 + other.windows.front().n_dropped);
  QCOMPARE(cache.match(count_from(0, 65), "").n_blocks, 13);
  cache.release(other);
}

void WindowGroupTest::equal_prefixes_side_by_side_are_kept_once() {
  PagedCache cache = cache_of(64);
  BlockTable first, second;
  const Ids tokens = count_from(0, 8);
  for (BlockTable* const table : {&first, &second}) {
    QVERIFY(cache.grow(*table, 8));
    cache.grow_windows(*table, 8);
  }
  QVERIFY(first.windows.front().blocks != second.windows.front().blocks);
  cache.publish(first, tokens, 8, "");
  cache.publish(second, tokens, 8, "");
  QCOMPARE(second.blocks, first.blocks);
  QCOMPARE(second.windows.front().blocks, first.windows.front().blocks);
  QCOMPARE(window_pool(cache).n_used(), 2);
  cache.release(first);
  cache.release(second);
  QCOMPARE(window_pool(cache).n_used(), 0);
}

void WindowGroupTest::retracting_forgets_both() {
  PagedCache cache = cache_of(64);
  BlockTable table;
  const Ids tokens = count_from(0, 64);
  compute(cache, table, tokens, 64);
  cache.retract(table, tokens, "");
  cache.release(table);
  QCOMPARE(cache.match(count_from(0, 65), "").n_blocks, 0);
  QCOMPARE(cache.pool().n_cached(), 0);
  QCOMPARE(window_pool(cache).n_cached(), 0);
  QCOMPARE(window_pool(cache).n_free(), 64);
}

/// The first group's half of a prefix is another's work, the window group's the failed one's: that half alone is forgotten.
void WindowGroupTest::retracting_leaves_what_others_use() {
  PagedCache cache = cache_of(10);
  BlockTable first, failed;
  const Ids tokens = count_from(0, 65);
  compute(cache, first, tokens, 64);
  compute(cache, failed, tokens, 40);
  QCOMPARE(failed.n_adopted, 0);
  const int n_cached = window_pool(cache).n_cached();
  cache.retract(failed, tokens, "");
  cache.release(failed);
  QVERIFY(window_pool(cache).n_cached() < n_cached);
  QVERIFY(cache.windows().front().consistent(cache.pool()));
  QCOMPARE(cache.match(tokens, "").n_blocks, 16);  // what `first` holds is still its own
  cache.release(first);
  QCOMPARE(cache.pool().n_cached(), 16);
}

void WindowGroupTest::a_window_beside_a_longer_one() {
  PagedCache cache = cache_of(64, 20);
  BlockTable table, second;
  const Ids tokens = count_from(0, 65);
  compute(cache, table, tokens, 64);
  QCOMPARE(table.n_dropped, 11);
  QCOMPARE(table.windows.front().n_dropped, 14);
  cache.release(table);
  QCOMPARE(cache.match(tokens, "").n_blocks, 16);
  QCOMPARE(cache.adopt_match(second), 64);
  QCOMPARE(second.n_held(), 5);
  QCOMPARE(second.windows.front().n_held(), 2);
  cache.release(second);
  QCOMPARE(cache.pool().n_used() + window_pool(cache).n_used(), 0);
}

void WindowGroupTest::without_sharing_nothing_is_found() {
  const WindowPool shape{.window = kWindow, .n_blocks = 16};
  PagedCache cache(64, kSize, false, 0, std::span(&shape, 1));
  BlockTable table;
  compute(cache, table, count_from(0, 64), 64, 64);
  QCOMPARE(window_pool(cache).n_used(), 2);
  QCOMPARE(window_pool(cache).n_free(), 14);
  QCOMPARE(cache.match(count_from(0, 65), "").n_blocks, 0);
  cache.release(table);
}

LATHE_TEST(WindowGroupTest)

}  // namespace window_group_test
#include "window_group_test.moc"
