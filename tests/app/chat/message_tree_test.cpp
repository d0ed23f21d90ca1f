// SPDX-License-Identifier: Apache-2.0
#include "app/api/message_tree.h"

#include <QTest>
#include <random>

#include "tests/support/test_class.h"

namespace message_tree_test {

namespace {

using lathe::app::MessageTree;
using lathe::app::StoredMessage;
using Ids = std::vector<std::int64_t>;

StoredMessage node(std::int64_t id, std::int64_t parent, std::int64_t rank, bool deleted = false) {
  StoredMessage message = lathe::app::new_message("user", std::to_string(id), parent);
  message.id = id;
  message.rank = rank;
  message.deleted = deleted;
  return message;
}

Ids path(const MessageTree& tree) {
  Ids ids;
  for (const StoredMessage& message : tree.path()) ids.push_back(message.id);
  return ids;
}

}  // namespace

class MessageTreeTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void an_empty_tree_has_no_path() {
    const MessageTree tree;
    QVERIFY(tree.path().empty());
    QCOMPARE(tree.tail(), std::int64_t{0});
    QVERIFY(tree.find(1) == nullptr && tree.versions(1).empty());
  }
  void the_highest_rank_is_shown() {
    MessageTree tree({node(1, 0, 1), node(2, 1, 5), node(3, 1, 3), node(4, 3, 4)});
    QCOMPARE(path(tree), (Ids{1, 2}));
    QCOMPARE(tree.versions(2), (Ids{2, 3}));
    tree.set_rank(3, 6);
    QCOMPARE(path(tree), (Ids{1, 3, 4}));
    QCOMPARE(tree.index_of(4), 2);
    QCOMPARE(tree.index_of(2), -1);
  }
  void a_new_message_is_shown() {
    MessageTree tree({node(1, 0, 1), node(2, 1, 7)});
    tree.add(node(3, 1, 0));
    QCOMPARE(path(tree), (Ids{1, 3}));
    QCOMPARE(tree.find(3)->rank, std::int64_t{8});
  }
  void a_deleted_message_is_stepped_over() {
    MessageTree tree({node(1, 0, 1), node(2, 1, 2), node(3, 2, 3)});
    tree.set_deleted(2, true);
    QCOMPARE(path(tree), (Ids{1, 3}));
    tree.set_deleted(3, true);
    QCOMPARE(path(tree), (Ids{1}));
    QCOMPARE(tree.tail(), std::int64_t{3});  // a new message goes where it stays right after an undo
    tree.add(node(4, tree.tail(), 0));
    QCOMPARE(path(tree), (Ids{1, 4}));
    tree.set_deleted(2, false);
    tree.set_deleted(3, false);
    QCOMPARE(path(tree), (Ids{1, 2, 3, 4}));
  }
  void a_deleted_version_gives_way() {
    MessageTree tree({node(1, 0, 1), node(2, 0, 2), node(3, 2, 3)});
    tree.set_deleted(2, true);
    QCOMPARE(path(tree), (Ids{1}));
    QCOMPARE(tree.versions(1), (Ids{1}));
    tree.set_deleted(1, true);
    QCOMPARE(path(tree), (Ids{3}));
  }
  void a_first_message_is_followed_by_all_that_began() {
    MessageTree tree({node(1, 0, 1), node(2, 0, 2)});
    tree.add_first(node(9, 0, 0));
    QCOMPARE(path(tree), (Ids{9, 2}));
    QCOMPARE(tree.versions(2), (Ids{1, 2}));
    QCOMPARE(tree.versions(9), (Ids{9}));
  }
  void an_erased_message_gives_its_rank_back() {
    MessageTree tree({node(1, 0, 1), node(2, 1, 2)});
    tree.add(node(3, 1, 0));
    tree.erase(3);
    QCOMPARE(path(tree), (Ids{1, 2}));
    tree.add(node(4, 1, 0));
    QCOMPARE(tree.find(4)->rank, std::int64_t{3});
  }
  void messages_without_a_way_to_the_root_are_not_shown() {
    const MessageTree tree({node(1, 2, 1), node(2, 1, 2), node(3, 77, 3), node(4, 0, 4), node(5, 5, 5)});
    QCOMPARE(path(tree), (Ids{4}));
  }
  /// The tree in memory and one read again agree whatever was done.
  void changes_give_what_a_fresh_tree_gives() {
    std::mt19937 random(7);
    std::vector<StoredMessage> all;
    MessageTree tree;
    for (std::int64_t id = 1; id <= 400; ++id) {
      const auto some = [&] { return all.empty() ? std::int64_t{0} : all[random() % all.size()].id; };
      tree.add(node(id, random() % 3 == 0 ? some() : tree.tail(), 0));
      all.push_back(*tree.find(id));
      StoredMessage& one = all[random() % all.size()];
      one.deleted = random() % 4 == 0;
      tree.set_deleted(one.id, one.deleted);
      const MessageTree fresh(all);
      QCOMPARE(path(tree), path(fresh));
      QCOMPARE(tree.tail(), fresh.tail());
    }
  }
};

LATHE_TEST(MessageTreeTest)

}  // namespace message_tree_test
#include "message_tree_test.moc"
