// SPDX-License-Identifier: Apache-2.0
#include <QObject>
#include <QtTest>

#include "engine/cache/paged_cache.h"
#include "tests/support/test_class.h"
#include "tests/support/token_ids.h"

namespace paged_cache_test {

using namespace lathe::engine;
using lathe::tests::count_from;

namespace {

using Ids = std::vector<std::int32_t>;

/// A table with all of `tokens` computed and published.
BlockTable filled(PagedCache& cache, const Ids& tokens) {
  BlockTable table;
  cache.grow(table, static_cast<std::int64_t>(tokens.size()));
  cache.publish(table, tokens, static_cast<int>(tokens.size()), "");
  return table;
}

}  // namespace

class PagedCacheTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void a_table_grows_by_whole_blocks();
  void growing_beyond_the_pool_changes_nothing();
  void only_full_blocks_are_found();
  void the_last_token_is_never_found();
  void released_blocks_stay_findable_until_they_are_needed();
  void the_end_of_a_prefix_is_evicted_before_its_beginning();
  void adopted_blocks_are_shared();
  void equal_prefixes_computed_side_by_side_are_kept_once();
  void retracted_blocks_are_not_found();
  void retracting_leaves_what_others_share();
  void without_sharing_nothing_is_found();
  void a_contiguous_table_has_numbers_in_a_row();
  void evictions_are_counted_once();
  void a_table_has_a_slot_of_states_until_its_release();
};

void PagedCacheTest::a_table_grows_by_whole_blocks() {
  PagedCache cache(8, 4, true);
  BlockTable table;
  QCOMPARE(cache.n_missing(table, 9), 3);
  QVERIFY(cache.grow(table, 9));
  QCOMPARE(table.blocks.size(), 3U);
  QVERIFY(cache.grow(table, 12));
  QCOMPARE(table.blocks.size(), 3U);
  QCOMPARE(cache.pool().n_used(), 3);
}

void PagedCacheTest::growing_beyond_the_pool_changes_nothing() {
  PagedCache cache(2, 4, true);
  BlockTable table;
  QVERIFY(!cache.grow(table, 9));
  QVERIFY(table.blocks.empty());
  QCOMPARE(cache.pool().n_available(), 2);
}

void PagedCacheTest::only_full_blocks_are_found() {
  PagedCache cache(8, 4, true);
  const BlockTable table = filled(cache, count_from(0, 10));
  QCOMPARE(table.n_published, 2);
  QCOMPARE(cache.match(count_from(0, 12), "").n_blocks, 2);
}

void PagedCacheTest::the_last_token_is_never_found() {
  PagedCache cache(8, 4, true);
  filled(cache, count_from(0, 8));
  QCOMPARE(cache.match(count_from(0, 8), "").n_blocks, 1);
  QCOMPARE(cache.match(count_from(0, 9), "").n_blocks, 2);
  QCOMPARE(cache.match(count_from(0, 1), "").n_blocks, 0);
}

void PagedCacheTest::released_blocks_stay_findable_until_they_are_needed() {
  PagedCache cache(2, 4, true);
  BlockTable table = filled(cache, count_from(0, 8));
  cache.release(table);
  const PrefixMatch match = cache.match(count_from(0, 9), "");
  QCOMPARE(match.n_blocks, 2);
  QCOMPARE(match.n_idle, 2);
  BlockTable other;
  QVERIFY(cache.grow(other, 8));
  QCOMPARE(cache.match(count_from(0, 9), "").n_blocks, 0);
}

void PagedCacheTest::the_end_of_a_prefix_is_evicted_before_its_beginning() {
  PagedCache cache(4, 4, true);
  BlockTable table = filled(cache, count_from(0, 16));
  cache.release(table);
  BlockTable other;
  QVERIFY(cache.grow(other, 8));
  QCOMPARE(cache.match(count_from(0, 17), "").n_blocks, 2);
}

void PagedCacheTest::adopted_blocks_are_shared() {
  PagedCache cache(8, 4, true);
  const BlockTable first = filled(cache, count_from(0, 8));
  BlockTable second;
  const PrefixMatch match = cache.match(count_from(0, 9), "");
  QCOMPARE(match.n_idle, 0);
  QCOMPARE(cache.adopt_match(second), 8);
  QCOMPARE(second.blocks, first.blocks);
  QCOMPARE(cache.pool().n_references(first.blocks[0]), 2);
  QCOMPARE(cache.pool().n_used(), 2);
}

void PagedCacheTest::equal_prefixes_computed_side_by_side_are_kept_once() {
  PagedCache cache(8, 4, true);
  const BlockTable first = filled(cache, count_from(0, 8));
  const BlockTable second = filled(cache, count_from(0, 8));
  QCOMPARE(second.blocks, first.blocks);
  QCOMPARE(cache.pool().n_used(), 2);
  QCOMPARE(cache.pool().n_free(), 6);
}

void PagedCacheTest::retracted_blocks_are_not_found() {
  PagedCache cache(8, 4, true);
  BlockTable table = filled(cache, count_from(0, 8));
  cache.retract(table, count_from(0, 8), "");
  cache.release(table);
  QCOMPARE(cache.match(count_from(0, 9), "").n_blocks, 0);
  QCOMPARE(cache.pool().n_free(), 8);
}

void PagedCacheTest::retracting_leaves_what_others_share() {
  PagedCache cache(8, 4, true);
  BlockTable first = filled(cache, count_from(0, 8));
  BlockTable second;
  cache.match(count_from(0, 5), "");
  cache.adopt_match(second);
  cache.retract(first, count_from(0, 8), "");
  cache.release(first);
  QCOMPARE(cache.match(count_from(0, 9), "").n_blocks, 1);
  QCOMPARE(cache.pool().n_used(), 1);
}

void PagedCacheTest::a_contiguous_table_has_numbers_in_a_row() {
  PagedCache cache(8, 4, true);
  BlockTable cached = filled(cache, count_from(0, 8));
  cache.release(cached);
  BlockTable table, other;
  QVERIFY(cache.take_contiguous(table, 17));
  QCOMPARE(table.blocks, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  QCOMPARE(cache.take_n_evicted(), 2);  // what lay in two of them is forgotten
  QCOMPARE(cache.match(count_from(0, 9), "").n_blocks, 0);
  QVERIFY(!cache.take_contiguous(other, 13));
  QVERIFY(other.blocks.empty());
  QVERIFY(cache.take_contiguous(other, 12));
  cache.release(table);
  QCOMPARE(cache.pool().n_used(), 3);
}

void PagedCacheTest::without_sharing_nothing_is_found() {
  PagedCache cache(8, 4, false);
  BlockTable table = filled(cache, count_from(0, 8));
  QCOMPARE(cache.match(count_from(0, 9), "").n_blocks, 0);
  cache.release(table);
  QCOMPARE(cache.pool().n_cached(), 0);
}

void PagedCacheTest::evictions_are_counted_once() {
  PagedCache cache(4, 4, true);
  BlockTable table = filled(cache, count_from(0, 16));
  cache.release(table);
  BlockTable other;
  cache.grow(other, 12);
  QCOMPARE(cache.take_n_evicted(), 3);
  QCOMPARE(cache.take_n_evicted(), 0);
}

void PagedCacheTest::a_table_has_a_slot_of_states_until_its_release() {
  PagedCache cache(8, 4, false, 0, {}, 2);
  BlockTable first, second, third;
  cache.take_state_slot(first);
  cache.take_state_slot(second);
  QCOMPARE(first.state_slot, 0);
  QCOMPARE(second.state_slot, 1);
  QCOMPARE(cache.state_slots().n_used(), 2);
  QVERIFY(cache.grow(first, 5));
  cache.release(first);
  QCOMPARE(first.state_slot, -1);
  QCOMPARE(cache.state_slots().n_used(), 1);
  cache.take_state_slot(third);
  QCOMPARE(third.state_slot, 0);
  cache.release(second);
  cache.release(third);
  QCOMPARE(cache.state_slots().n_used(), 0);
  // Models without recurrent layers have none.
  PagedCache plain(8, 4, true);
  plain.take_state_slot(first);
  QCOMPARE(first.state_slot, -1);
  plain.release(first);
}

LATHE_TEST(PagedCacheTest)

}  // namespace paged_cache_test
#include "paged_cache_test.moc"
