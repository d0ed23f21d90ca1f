// SPDX-License-Identifier: Apache-2.0
#include <QObject>
#include <QtTest>

#include <random>

#include "engine/cache/block_pool.h"
#include "tests/support/test_class.h"

namespace block_pool_test {

using lathe::engine::BlockPool;

class BlockPoolTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void a_new_pool_is_free();
  void every_block_is_given_once();
  void a_released_block_without_content_is_given_next();
  void cached_blocks_are_given_last_and_the_oldest_first();
  void giving_out_a_cached_block_says_so();
  void a_reference_takes_a_cached_block_out_of_the_list();
  void a_shared_block_comes_back_with_its_last_reference();
  void forgetting_the_content_makes_a_cached_block_free();
  void what_lost_its_content_is_given_before_content_is_lost();
  void a_run_is_the_lowest_that_is_free();
  void the_counts_add_up_under_random_traffic();
};

void BlockPoolTest::a_new_pool_is_free() {
  const BlockPool pool(5);
  QCOMPARE(pool.n_free(), 5);
  QCOMPARE(pool.n_used(), 0);
  QCOMPARE(pool.n_cached(), 0);
  QCOMPARE(pool.n_available(), 5);
}

void BlockPoolTest::every_block_is_given_once() {
  BlockPool pool(4);
  std::vector<bool> seen(4, false);
  for (int i = 0; i < 4; ++i) {
    const auto block = static_cast<std::size_t>(pool.take().block);
    QVERIFY(!seen[block]);
    seen[block] = true;
  }
  QCOMPARE(pool.n_available(), 0);
  QCOMPARE(pool.n_used(), 4);
}

void BlockPoolTest::a_released_block_without_content_is_given_next() {
  BlockPool pool(4);
  const auto first = pool.take().block;
  pool.take();
  pool.release(first);
  QCOMPARE(pool.take().block, first);
}

void BlockPoolTest::cached_blocks_are_given_last_and_the_oldest_first() {
  BlockPool pool(3);
  const auto a = pool.take().block, b = pool.take().block;
  pool.set_cached(a, true);
  pool.set_cached(b, true);
  pool.release(b);
  pool.release(a);
  QVERIFY(pool.take().block != a);
  QCOMPARE(pool.take().block, b);
  QCOMPARE(pool.take().block, a);
}

void BlockPoolTest::giving_out_a_cached_block_says_so() {
  BlockPool pool(1);
  const BlockPool::Taken fresh = pool.take();
  QVERIFY(!fresh.was_cached);
  pool.set_cached(fresh.block, true);
  pool.release(fresh.block);
  QCOMPARE(pool.n_cached(), 1);
  QVERIFY(pool.take().was_cached);
  QVERIFY(!pool.is_cached(fresh.block));
}

void BlockPoolTest::a_reference_takes_a_cached_block_out_of_the_list() {
  BlockPool pool(2);
  const auto block = pool.take().block;
  pool.set_cached(block, true);
  pool.release(block);
  pool.add_reference(block);
  QCOMPARE(pool.n_used(), 1);
  QCOMPARE(pool.n_cached(), 0);
  QVERIFY(pool.take().block != block);
}

void BlockPoolTest::a_shared_block_comes_back_with_its_last_reference() {
  BlockPool pool(1);
  const auto block = pool.take().block;
  pool.add_reference(block);
  pool.release(block);
  QCOMPARE(pool.n_available(), 0);
  pool.release(block);
  QCOMPARE(pool.n_available(), 1);
}

void BlockPoolTest::forgetting_the_content_makes_a_cached_block_free() {
  BlockPool pool(2);
  const auto block = pool.take().block;
  pool.set_cached(block, true);
  pool.release(block);
  pool.set_cached(block, false);
  QCOMPARE(pool.n_cached(), 0);
  QCOMPARE(pool.n_free(), 2);
}

void BlockPoolTest::what_lost_its_content_is_given_before_content_is_lost() {
  BlockPool pool(3);
  for (int i = 0; i < 3; ++i) pool.set_cached(pool.take().block, true);
  for (std::int32_t block = 0; block < 3; ++block) pool.release(block);
  pool.set_cached(1, false);
  const BlockPool::Taken first = pool.take();
  QCOMPARE(first.block, 1);
  QVERIFY(!first.was_cached);
  QCOMPARE(pool.take().block, 0);
  QCOMPARE(pool.take().block, 2);
}

void BlockPoolTest::a_run_is_the_lowest_that_is_free() {
  BlockPool pool(10);
  QCOMPARE(pool.find_run(10), 0);
  QCOMPARE(pool.find_run(11), -1);
  QCOMPARE(pool.find_run(0), -1);
  pool.take_block(2);
  pool.take_block(6);
  QCOMPARE(pool.find_run(2), 0);
  QCOMPARE(pool.find_run(3), 3);
  QCOMPARE(pool.find_run(4), -1);
  pool.release(2);
  QCOMPARE(pool.find_run(4), 0);
  QCOMPARE(pool.n_used(), 1);
}

void BlockPoolTest::the_counts_add_up_under_random_traffic() {
  std::mt19937 random(1);
  BlockPool pool(32);
  std::vector<std::int32_t> held;
  for (int i = 0; i < 20000; ++i) {
    const bool take = held.empty() || random() % 2 == 0;
    if (take && pool.n_available() > 0) {
      held.push_back(pool.take().block);
      if (random() % 2 == 0) pool.set_cached(held.back(), true);
    } else if (!held.empty()) {
      const std::size_t i_held = random() % held.size();
      pool.release(held[i_held]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i_held));
    }
    QCOMPARE(pool.n_used(), static_cast<int>(held.size()));
    QCOMPARE(pool.n_used() + pool.n_cached() + pool.n_free(), 32);
  }
  for (const auto block : held) pool.release(block);
  QCOMPARE(pool.n_available(), 32);
}

LATHE_TEST(BlockPoolTest)

}  // namespace block_pool_test
#include "block_pool_test.moc"
