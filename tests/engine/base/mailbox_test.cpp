// SPDX-License-Identifier: Apache-2.0
#include <QObject>
#include <QtTest>

#include <memory>
#include <thread>

#include "engine/base/mailbox.h"
#include "tests/support/test_class.h"

namespace mailbox_test {

using lathe::engine::Mailbox;

class MailboxTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void values_come_in_the_order_of_putting();
  void taking_from_an_empty_box_gives_nothing();
  void a_closed_box_refuses_and_leaves_the_value_with_the_caller();
  void what_lies_in_a_closed_box_can_be_taken();
  void wait_returns_when_mail_comes();
  void wait_returns_when_the_box_is_closed();
  void a_woken_wait_returns_once_without_mail();
  void a_wait_with_an_end_returns_without_mail_and_early_with_it();
  void many_senders_lose_nothing();
};

void MailboxTest::values_come_in_the_order_of_putting() {
  Mailbox<int> box;
  for (int value : {1, 2, 3}) QVERIFY(box.put(value));
  std::vector<int> out{0};
  box.take_all(out);
  QCOMPARE(out, (std::vector<int>{0, 1, 2, 3}));
  QVERIFY(box.empty());
}

void MailboxTest::taking_from_an_empty_box_gives_nothing() {
  Mailbox<int> box;
  std::vector<int> out;
  box.take_all(out);
  QVERIFY(out.empty());
}

void MailboxTest::a_closed_box_refuses_and_leaves_the_value_with_the_caller() {
  Mailbox<std::unique_ptr<int>> box;
  box.close();
  auto value = std::make_unique<int>(7);
  QVERIFY(!box.put(value));
  QVERIFY(value != nullptr);
  QCOMPARE(*value, 7);
}

void MailboxTest::what_lies_in_a_closed_box_can_be_taken() {
  Mailbox<int> box;
  int value = 5;
  box.put(value);
  box.close();
  QVERIFY(box.wait());
  std::vector<int> out;
  box.take_all(out);
  QCOMPARE(out, std::vector<int>{5});
  QVERIFY(!box.wait());
}

void MailboxTest::wait_returns_when_mail_comes() {
  Mailbox<int> box;
  std::jthread sender([&box] {
    int value = 1;
    box.put(value);
  });
  QVERIFY(box.wait());
}

void MailboxTest::a_woken_wait_returns_once_without_mail() {
  Mailbox<int> box;
  std::jthread waker([&box] { box.wake(); });
  QVERIFY(box.wait());
  QVERIFY(box.empty());
  waker.join();
  box.close();
  QVERIFY(!box.wait());
}

void MailboxTest::a_wait_with_an_end_returns_without_mail_and_early_with_it() {
  Mailbox<int> box;
  box.wait_for(std::chrono::milliseconds(1));
  QVERIFY(box.empty());
  std::jthread sender([&box] {
    int value = 1;
    box.put(value);
  });
  box.wait_for(std::chrono::hours(1));
  QVERIFY(!box.empty());
}

void MailboxTest::wait_returns_when_the_box_is_closed() {
  Mailbox<int> box;
  std::jthread closer([&box] { box.close(); });
  QVERIFY(!box.wait());
}

void MailboxTest::many_senders_lose_nothing() {
  constexpr int kSenders = 4, kEach = 2000;
  Mailbox<int> box;
  std::vector<std::jthread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&box, sender] {
      for (int i = 0; i < kEach; ++i) {
        int value = sender * kEach + i;
        box.put(value);
      }
    });
  }
  std::vector<int> out;
  while (out.size() < kSenders * kEach) {
    QVERIFY(box.wait());
    box.take_all(out);
  }
  std::sort(out.begin(), out.end());
  for (int i = 0; i < kSenders * kEach; ++i) QCOMPARE(out[static_cast<std::size_t>(i)], i);
}

LATHE_TEST(MailboxTest)

}  // namespace mailbox_test
#include "mailbox_test.moc"
