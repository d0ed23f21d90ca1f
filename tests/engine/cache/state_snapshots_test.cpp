// SPDX-License-Identifier: Apache-2.0
// Snapshots of recurrent states: which are found, which are evicted, and which a step may write.
#include "engine/cache/state_snapshots.h"

#include <QTest>

#include "engine/cache/paged_cache.h"
#include "tests/support/test_class.h"
#include "tests/support/token_ids.h"

namespace state_snapshots_test {

using namespace lathe::engine;
using lathe::tests::count_from;

namespace {

constexpr int kFirstSlot = 3;

using Tokens = std::vector<std::int32_t>;

/// Computes all of `tokens` in one step, with snapshots after the given tokens.
BlockTable computed(PagedCache& cache, const Tokens& tokens, const std::vector<int>& borders, bool is_of_answer = false) {
  BlockTable table;
  cache.take_state_slot(table);
  cache.grow(table, std::ssize(tokens));
  for (const int n_tokens : borders) cache.take_snapshot(table, n_tokens, is_of_answer);
  cache.publish(table, tokens, static_cast<int>(tokens.size()), "");
  return table;
}

/// A cache of 32 blocks of 4 tokens, for 3 sequences.
PagedCache cache_with(int n_snapshots, int n_blocks = 32) { return {n_blocks, 4, true, 0, {}, kFirstSlot, n_snapshots}; }

}  // namespace

class StateSnapshotsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_least_recently_used_one_is_evicted();
  void a_snapshot_in_use_is_never_evicted();
  void a_second_snapshot_of_a_block_is_given_back();
  void a_snapshot_moves_on_with_its_answer();
  void a_snapshot_that_another_continued_stays();
  void a_match_ends_at_a_snapshot();
  void a_match_without_a_snapshot_is_none();
  void a_sequence_begins_with_the_snapshot_of_its_match();
  void a_snapshot_is_lost_with_its_block();
  void what_no_step_completed_is_given_back();
  void what_failed_is_not_found();
  void without_free_snapshots_a_step_takes_none();
  void a_shorter_match_of_a_window_ends_at_a_snapshot_too();
};

void StateSnapshotsTest::the_least_recently_used_one_is_evicted() {
  StateSnapshots snapshots(2, kFirstSlot, 8);
  QVERIFY(snapshots.attach(snapshots.take(), 5, 4));
  QVERIFY(snapshots.attach(snapshots.take(), 6, 8));
  QCOMPARE(snapshots.n_held(), 2);
  snapshots.release(snapshots.adopt(5));  // used again, so block 6 has the older one
  const OwnSnapshot third = snapshots.take();
  QVERIFY(third.slot >= kFirstSlot && third.slot < kFirstSlot + 2);
  QVERIFY(snapshots.exists(5) && !snapshots.exists(6));
  QVERIFY(snapshots.attach(third, 7, 12));
  QCOMPARE(snapshots.n_tokens(third.slot - kFirstSlot), 12);
  QCOMPARE(snapshots.counters().n_taken, 3U);
  QCOMPARE(snapshots.counters().n_hits, 1U);
  QCOMPARE(snapshots.counters().n_evicted, 1U);
}

void StateSnapshotsTest::a_snapshot_in_use_is_never_evicted() {
  StateSnapshots snapshots(2, kFirstSlot, 8);
  QVERIFY(snapshots.attach(snapshots.take(), 5, 4));
  const std::int32_t read = snapshots.adopt(5), twice = snapshots.adopt(5);
  QCOMPARE(read, twice);
  const OwnSnapshot written = snapshots.take();
  QVERIFY(written.slot >= 0 && written.slot != read);
  QCOMPARE(snapshots.take().slot, -1);
  snapshots.forget(5, true);  // no effect
  snapshots.release(read);
  QCOMPARE(snapshots.take().slot, -1);
  snapshots.release(twice);
  QCOMPARE(snapshots.take().slot, read);
}

void StateSnapshotsTest::a_second_snapshot_of_a_block_is_given_back() {
  StateSnapshots snapshots(2, kFirstSlot, 8);
  const OwnSnapshot first = snapshots.take(), second = snapshots.take();
  QVERIFY(snapshots.attach(first, 5, 4));
  QVERIFY(!snapshots.attach(second, 5, 4));
  QCOMPARE(snapshots.n_held(), 1);
  QCOMPARE(snapshots.take().slot, second.slot);  // it is empty, so nothing is evicted
  QVERIFY(snapshots.exists(5));
}

void StateSnapshotsTest::a_snapshot_moves_on_with_its_answer() {
  StateSnapshots snapshots(3, kFirstSlot, 8);
  const OwnSnapshot first = snapshots.take();
  QVERIFY(snapshots.attach(first, 5, 4));
  const OwnSnapshot next = snapshots.take_again(first);
  QCOMPARE(next.slot, first.slot);
  QVERIFY(!snapshots.exists(5));
  QVERIFY(snapshots.attach(next, 6, 8));
  QCOMPARE(snapshots.take_again(first).slot, -1);  // the slot has another snapshot now
  QCOMPARE(snapshots.counters().n_evicted, 0U);
}

void StateSnapshotsTest::a_snapshot_that_another_continued_stays() {
  StateSnapshots snapshots(3, kFirstSlot, 8);
  const OwnSnapshot own = snapshots.take();
  QVERIFY(snapshots.attach(own, 5, 4));
  snapshots.release(snapshots.adopt(5));
  QCOMPARE(snapshots.take_again(own).slot, -1);
  QVERIFY(snapshots.exists(5));
}

void StateSnapshotsTest::a_match_ends_at_a_snapshot() {
  PagedCache cache = cache_with(4);
  BlockTable table = computed(cache, count_from(0, 26), {8, 16});
  const auto length_of = [&](const Tokens& tokens) {
    const PrefixMatch match = cache.match(tokens, "");
    return std::pair(match.n_blocks, match.n_kv_blocks);
  };
  QCOMPARE(length_of(count_from(0, 26)), std::pair(4, 6));
  QCOMPARE(length_of(count_from(0, 17)), std::pair(4, 4));
  QCOMPARE(length_of(count_from(0, 16)), std::pair(2, 3));  // the last token is never found
  QCOMPARE(length_of(count_from(0, 8)), std::pair(0, 1));
  cache.release(table);
  QCOMPARE(length_of(count_from(0, 26)), std::pair(4, 6));
}

void StateSnapshotsTest::a_match_without_a_snapshot_is_none() {
  PagedCache cache = cache_with(4);
  BlockTable table = computed(cache, count_from(0, 26), {});
  const PrefixMatch match = cache.match(count_from(0, 26), "");
  QCOMPARE(match.n_blocks, 0);
  QCOMPARE(match.n_kv_blocks, 6);
  BlockTable next;
  QCOMPARE(cache.adopt_match(next), 0);
  QCOMPARE(next.state_source, -1);
  cache.release(table);
}

void StateSnapshotsTest::a_sequence_begins_with_the_snapshot_of_its_match() {
  PagedCache cache = cache_with(2);
  BlockTable table = computed(cache, count_from(0, 12), {8});
  BlockTable next;
  cache.match(count_from(0, 12), "");
  QCOMPARE(cache.adopt_match(next), 8);
  cache.take_state_slot(next);
  QVERIFY(next.state_source >= kFirstSlot && next.state_source != next.state_slot);
  QVERIFY(cache.grow(next, 16));
  // Whatever the step takes, it is another slot than the one that it reads.
  cache.take_snapshot(next, 12, false);
  QCOMPARE(next.pending.all().size(), std::size_t{1});
  QVERIFY(next.pending.all()[0].own.slot != next.state_source);
  cache.take_snapshot(next, 16, false);
  QCOMPARE(next.pending.all().size(), std::size_t{1});
  cache.publish(next, count_from(0, 16), 16, "");
  QCOMPARE(next.state_source, -1);
  QVERIFY(next.pending.all().empty() && cache.snapshots()->consistent(cache.pool()));
  QCOMPARE(cache.match(count_from(0, 17), "").n_blocks, 3);
  cache.release(table);
  cache.release(next);
}

void StateSnapshotsTest::a_snapshot_is_lost_with_its_block() {
  PagedCache cache = cache_with(4, 6);
  BlockTable table = computed(cache, count_from(0, 20), {8, 16});
  cache.release(table);
  QCOMPARE(cache.snapshots()->n_held(), 2);
  BlockTable other;
  QVERIFY(cache.grow(other, 12));  // the empty block, then the last two of the first table
  QCOMPARE(cache.snapshots()->n_held(), 1);
  QCOMPARE(cache.snapshots()->counters().n_evicted, 1U);
  QCOMPARE(cache.match(count_from(0, 20), "").n_blocks, 2);
  QVERIFY(cache.snapshots()->consistent(cache.pool()));
}

void StateSnapshotsTest::what_no_step_completed_is_given_back() {
  PagedCache cache = cache_with(2);
  BlockTable table = computed(cache, count_from(0, 12), {8});
  BlockTable next;
  cache.match(count_from(0, 12), "");
  cache.adopt_match(next);
  cache.grow(next, 12);
  cache.take_snapshot(next, 12, false);
  QVERIFY(!cache.snapshots()->consistent(cache.pool()));
  cache.release(next);
  QVERIFY(cache.snapshots()->consistent(cache.pool()));
  QCOMPARE(cache.snapshots()->n_held(), 1);
  cache.release(table);
}

void StateSnapshotsTest::what_failed_is_not_found() {
  PagedCache cache = cache_with(2);
  BlockTable table = computed(cache, count_from(0, 12), {8});
  cache.retract(table, count_from(0, 12), "");
  cache.release(table);
  QCOMPARE(cache.snapshots()->n_held(), 0);
  QCOMPARE(cache.match(count_from(0, 12), "").n_kv_blocks, 0);
}

void StateSnapshotsTest::without_free_snapshots_a_step_takes_none() {
  PagedCache cache = cache_with(1);
  BlockTable first, second;
  for (BlockTable* table : {&first, &second}) QVERIFY(cache.grow(*table, 8));
  cache.take_snapshot(first, 4, false);
  cache.take_snapshot(first, 8, false);
  cache.take_snapshot(second, 4, false);
  QCOMPARE(first.pending.all().size(), std::size_t{1});
  QVERIFY(second.pending.all().empty());
  cache.publish(first, count_from(0, 8), 8, "");
  cache.publish(second, count_from(50, 8), 8, "");
  QCOMPARE(cache.match(count_from(0, 9), "").n_blocks, 1);
  QCOMPARE(cache.match(count_from(50, 9), "").n_blocks, 0);
}

/// A layer with a window has lost the blocks that the longest snapshot's continuation sees.
void StateSnapshotsTest::a_shorter_match_of_a_window_ends_at_a_snapshot_too() {
  const WindowPool window{.window = 4, .n_blocks = 8};
  PagedCache cache(32, 4, true, 0, {&window, 1}, kFirstSlot, 4);
  BlockTable table;
  const Tokens tokens = count_from(0, 24);
  for (int end = 8; end <= 24; end += 8) {
    QVERIFY(cache.grow(table, end));
    cache.grow_windows(table, end);
    cache.take_snapshot(table, end, false);
    cache.publish(table, tokens, end, "");
    cache.drop_behind_window(table, end);
  }
  cache.release(table);
  QCOMPARE(cache.match(count_from(0, 25), "").n_blocks, 6);
  // The first 16 tokens are used again, so their end is the last block that the window group loses.
  BlockTable again;
  cache.match(count_from(0, 17), "");
  QCOMPARE(cache.adopt_match(again), 16);
  cache.release(again);
  BlockTable other;
  QVERIFY(cache.grow(other, 28));
  cache.grow_windows(other, 28);
  const PrefixMatch match = cache.match(count_from(0, 25), "");
  QCOMPARE(match.n_kv_blocks, 4);
  QCOMPARE(match.n_blocks, 4);
  cache.release(other);
  QVERIFY(cache.snapshots()->consistent(cache.pool()));
}

LATHE_TEST(StateSnapshotsTest)

}  // namespace state_snapshots_test
#include "state_snapshots_test.moc"
