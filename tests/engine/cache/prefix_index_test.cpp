// SPDX-License-Identifier: Apache-2.0
#include <QObject>
#include <QtTest>

#include <random>

#include "engine/cache/prefix_index.h"
#include "tests/support/test_class.h"

namespace prefix_index_test {

using namespace lathe::engine;

namespace {
using Ids = std::vector<std::int32_t>;
}

class PrefixIndexTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void what_was_inserted_is_found();
  void one_different_token_is_not_found();
  void the_same_tokens_after_another_prefix_are_not_found();
  void the_salt_parts_first_blocks();
  void an_erased_block_is_not_found();
  void a_node_is_never_given_twice();
  void what_followed_an_erased_prefix_is_not_found_by_its_successor();
  void erasing_in_any_order_keeps_the_rest();
};

void PrefixIndexTest::what_was_inserted_is_found() {
  PrefixIndex index(4, 3);
  index.insert(2, kEmptyPrefix, Ids{1, 2, 3}, "");
  QCOMPARE(index.find(kEmptyPrefix, Ids{1, 2, 3}, ""), 2);
  index.insert(0, index.node_of(2), Ids{4, 5, 6}, "");
  QCOMPARE(index.find(index.node_of(2), Ids{4, 5, 6}, ""), 0);
  QCOMPARE(index.size(), 2);
}

void PrefixIndexTest::one_different_token_is_not_found() {
  PrefixIndex index(4, 3);
  index.insert(2, kEmptyPrefix, Ids{1, 2, 3}, "");
  for (const Ids& other : {Ids{0, 2, 3}, Ids{1, 0, 3}, Ids{1, 2, 0}}) QCOMPARE(index.find(kEmptyPrefix, other, ""), -1);
}

void PrefixIndexTest::the_same_tokens_after_another_prefix_are_not_found() {
  PrefixIndex index(4, 2);
  index.insert(0, kEmptyPrefix, Ids{1, 1}, "");
  index.insert(1, kEmptyPrefix, Ids{2, 2}, "");
  index.insert(2, index.node_of(0), Ids{3, 3}, "");
  QCOMPARE(index.find(index.node_of(1), Ids{3, 3}, ""), -1);
  QCOMPARE(index.find(kEmptyPrefix, Ids{3, 3}, ""), -1);
}

void PrefixIndexTest::the_salt_parts_first_blocks() {
  PrefixIndex index(4, 2);
  index.insert(0, kEmptyPrefix, Ids{1, 1}, "one");
  QCOMPARE(index.find(kEmptyPrefix, Ids{1, 1}, "two"), -1);
  QCOMPARE(index.find(kEmptyPrefix, Ids{1, 1}, ""), -1);
  QCOMPARE(index.find(kEmptyPrefix, Ids{1, 1}, "one"), 0);
}

void PrefixIndexTest::an_erased_block_is_not_found() {
  PrefixIndex index(4, 2);
  index.insert(3, kEmptyPrefix, Ids{1, 1}, "");
  index.erase(3);
  QCOMPARE(index.find(kEmptyPrefix, Ids{1, 1}, ""), -1);
  QVERIFY(!index.contains(3));
  index.erase(3);
  QCOMPARE(index.size(), 0);
}

void PrefixIndexTest::a_node_is_never_given_twice() {
  PrefixIndex index(2, 2);
  index.insert(0, kEmptyPrefix, Ids{1, 1}, "");
  const PrefixNode before = index.node_of(0);
  index.erase(0);
  index.insert(0, kEmptyPrefix, Ids{1, 1}, "");
  QVERIFY(index.node_of(0) != before);
}

void PrefixIndexTest::what_followed_an_erased_prefix_is_not_found_by_its_successor() {
  PrefixIndex index(3, 2);
  index.insert(0, kEmptyPrefix, Ids{1, 1}, "");
  index.insert(1, index.node_of(0), Ids{2, 2}, "");
  index.erase(0);
  index.insert(0, kEmptyPrefix, Ids{9, 9}, "");
  QCOMPARE(index.find(index.node_of(0), Ids{2, 2}, ""), -1);
}

void PrefixIndexTest::erasing_in_any_order_keeps_the_rest() {
  std::mt19937 random(3);
  PrefixIndex index(64, 2);
  std::vector<bool> in(64, false);
  for (int i = 0; i < 5000; ++i) {
    const auto block = static_cast<std::int32_t>(random() % 64);
    const Ids tokens{block, block};
    if (in[static_cast<std::size_t>(block)]) {
      QCOMPARE(index.find(kEmptyPrefix, tokens, ""), block);
      index.erase(block);
    } else {
      QCOMPARE(index.find(kEmptyPrefix, tokens, ""), -1);
      index.insert(block, kEmptyPrefix, tokens, "");
    }
    in[static_cast<std::size_t>(block)] = !in[static_cast<std::size_t>(block)];
  }
  QCOMPARE(index.size(), static_cast<int>(std::count(in.begin(), in.end(), true)));
}

LATHE_TEST(PrefixIndexTest)

}  // namespace prefix_index_test
#include "prefix_index_test.moc"
