// SPDX-License-Identifier: Apache-2.0
// Blocks that lie behind the window of all layers: given back, still found, never waited for.
#include <QTest>

#include "engine/cache/cache_occupancy.h"
#include "engine/cache/paged_cache.h"
#include "tests/support/test_class.h"
#include "tests/support/token_ids.h"

namespace window_test {

using namespace lathe::engine;
using lathe::tests::count_from;

namespace {

using Ids = std::vector<std::int32_t>;

/// Computes tokens up to n as an engine does: grow, publish, give back.
void compute(PagedCache& cache, BlockTable& table, const Ids& tokens, int n) {
  QVERIFY(cache.grow(table, n));
  cache.publish(table, tokens, n, "");
  cache.drop_behind_window(table, n);
}

/// True if the blocks that the next row attends to are held, and at least one full block where blocks were given back.
bool holds_what_is_seen(const BlockTable& table, int n_computed, std::int64_t window, int block_size) {
  const std::int64_t first_seen = std::max<std::int64_t>(0, n_computed + 1 - window);
  for (std::int64_t i = first_seen / block_size; i < std::ssize(table.blocks); ++i) {
    if (table.blocks[static_cast<std::size_t>(i)] < 0) return false;
  }
  return table.n_dropped == 0 || (table.n_dropped + 1) * block_size <= n_computed;
}

}  // namespace

class WindowTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void nothing_is_given_back_without_a_window();
  void held_blocks_are_bounded_data();
  void held_blocks_are_bounded();
  void what_was_given_back_is_still_found();
  void a_hit_takes_the_last_window_alone();
  void a_lost_beginning_is_no_hit();
  void retracting_forgets_what_was_given_back();
  void what_was_given_back_can_be_read_elsewhere();
  void room_counts_what_is_held();
};

void WindowTest::nothing_is_given_back_without_a_window() {
  PagedCache cache(16, 4, true);
  BlockTable table;
  compute(cache, table, count_from(0, 64), 64);
  QCOMPARE(table.n_dropped, 0);
  QCOMPARE(cache.pool().n_used(), 16);
}

void WindowTest::held_blocks_are_bounded_data() {
  QTest::addColumn<int>("window");
  QTest::addColumn<int>("chunk");
  for (const int window : {1, 3, 4, 5, 8, 13, 30}) {
    for (const int chunk : {1, 2, 4, 7, 16}) QTest::addRow("window %d, chunks of %d", window, chunk) << window << chunk;
  }
}

void WindowTest::held_blocks_are_bounded() {
  QFETCH(int, window);
  QFETCH(int, chunk);
  constexpr int kTokens = 200;
  PagedCache cache(60, 4, true, window);
  const Ids tokens = count_from(0, kTokens);
  BlockTable table;
  const auto bound = static_cast<int>(peak_blocks(kTokens, window, chunk, 4));
  QVERIFY(bound <= cache.blocks_for(std::max(window, 4) + chunk) + 1);
  for (int n = 0; n < kTokens;) {
    const int next = std::min(n + chunk, kTokens);
    QVERIFY(cache.grow(table, next));
    QVERIFY(holds_what_is_seen(table, n, window, 4));
    QVERIFY(table.n_held() <= bound);
    QCOMPARE(cache.pool().n_used(), table.n_held());
    cache.publish(table, tokens, next, "");
    cache.drop_behind_window(table, next);
    n = next;
  }
  cache.release(table);
  QCOMPARE(cache.pool().n_used(), 0);
  QCOMPARE(cache.pool().n_available(), 60);
}

void WindowTest::what_was_given_back_is_still_found() {
  PagedCache cache(32, 4, true, 8);
  const Ids tokens = count_from(0, 64);
  BlockTable table;
  compute(cache, table, tokens, 64);
  QCOMPARE(table.n_dropped, 14);  // the next row is token 64 and sees 57 to 64
  QCOMPARE(cache.pool().n_cached(), 14);
  QCOMPARE(cache.match(count_from(0, 65), "").n_blocks, 16);
}

void WindowTest::a_hit_takes_the_last_window_alone() {
  PagedCache cache(32, 4, true, 8);
  BlockTable first, second;
  compute(cache, first, count_from(0, 64), 64);
  cache.release(first);
  const PrefixMatch match = cache.match(count_from(0, 65), "");
  QCOMPARE(match.n_blocks, 16);
  QCOMPARE(match.n_wanted, 2);
  QCOMPARE(match.n_idle, 2);
  QCOMPARE(cache.adopt_match(second), 64);
  QCOMPARE(second.n_held(), 2);
  QCOMPARE(cache.pool().n_used(), 2);
  QVERIFY(holds_what_is_seen(second, 64, 8, 4));
  cache.release(second);
  QCOMPARE(cache.pool().n_used(), 0);
}

void WindowTest::a_lost_beginning_is_no_hit() {
  PagedCache cache(18, 4, true, 8);
  BlockTable first, other;
  compute(cache, first, count_from(0, 64), 64);
  compute(cache, other, count_from(500, 12), 12);  // two free blocks, then the oldest cached one
  QCOMPARE(cache.take_n_evicted(), 1);
  QCOMPARE(cache.match(count_from(0, 65), "").n_blocks, 0);
  cache.release(first);
  cache.release(other);
  QCOMPARE(cache.pool().n_used(), 0);
}

void WindowTest::retracting_forgets_what_was_given_back() {
  PagedCache cache(32, 4, true, 8);
  const Ids tokens = count_from(0, 64);
  BlockTable table;
  compute(cache, table, tokens, 64);
  cache.retract(table, tokens, "");
  cache.release(table);
  QCOMPARE(cache.match(count_from(0, 65), "").n_blocks, 0);
  QCOMPARE(cache.pool().n_cached(), 0);
  QCOMPARE(cache.pool().n_free(), 32);
  // Adopted blocks were computed by another sequence and stay cached.
  BlockTable second;
  compute(cache, table, count_from(0, 32), 32);
  cache.release(table);
  cache.match(tokens, "");
  QCOMPARE(cache.adopt_match(second), 32);
  compute(cache, second, tokens, 64);
  cache.retract(second, tokens, "");
  cache.release(second);
  QCOMPARE(cache.match(count_from(0, 65), "").n_blocks, 8);
}

void WindowTest::what_was_given_back_can_be_read_elsewhere() {
  PagedCache cache(32, 4, true, 8);
  BlockTable table;
  compute(cache, table, count_from(0, 64), 64);
  for (int i = 0; i < 16; ++i) {
    const std::int32_t block = PagedCache::readable_block(table, i);
    QCOMPARE(block, table.blocks[static_cast<std::size_t>(std::max(i, 14))]);
    QVERIFY(cache.pool().n_references(block) == 1);
  }
}

void WindowTest::room_counts_what_is_held() {
  PagedCache cache(32, 4, true, 8);
  BlockTable table;
  compute(cache, table, count_from(0, 64), 62);
  CacheOccupancy room;
  room.add(table, 62, 4);
  QCOMPARE(room.n_held, table.n_held() * 4);
  QCOMPARE(room.n_reserved, 0);
  QCOMPARE(room.n_unfilled, 2);
}

LATHE_TEST(WindowTest)

}  // namespace window_test
#include "window_test.moc"
