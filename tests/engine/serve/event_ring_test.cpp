// SPDX-License-Identifier: Apache-2.0
#include <QObject>
#include <QtTest>

#include "engine/serve/event_ring.h"
#include "tests/support/test_class.h"

namespace event_ring_test {

using namespace lathe::engine;

namespace {

std::vector<SchedulerEvent> events(int n) {
  std::vector<SchedulerEvent> some(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < some.size(); ++i) some[i].request_id = i;
  return some;
}

}  // namespace

class EventRingTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void events_are_numbered_as_they_come();
  void a_cursor_sees_each_event_once();
  void a_slow_reader_gets_the_last_ones();
  void two_readers_do_not_disturb_each_other();
};

void EventRingTest::events_are_numbered_as_they_come() {
  EventRing ring(8);
  ring.append(events(2));
  ring.append(events(1));
  std::uint64_t cursor = 0;
  const auto seen = ring.since(cursor);
  QCOMPARE(seen.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) QCOMPARE(seen[i].sequence, i);
  QCOMPARE(ring.next(), 3U);
}

void EventRingTest::a_cursor_sees_each_event_once() {
  EventRing ring(8);
  std::uint64_t cursor = 0;
  ring.append(events(2));
  QCOMPARE(ring.since(cursor).size(), 2U);
  QCOMPARE(ring.since(cursor).size(), 0U);
  ring.append(events(3));
  QCOMPARE(ring.since(cursor).front().sequence, 2U);
  QCOMPARE(cursor, 5U);
}

void EventRingTest::a_slow_reader_gets_the_last_ones() {
  EventRing ring(4);
  ring.append(events(10));
  std::uint64_t cursor = 1;
  const auto seen = ring.since(cursor);
  QCOMPARE(seen.size(), 4U);
  QCOMPARE(seen.front().sequence, 6U);
  QCOMPARE(seen.back().sequence, 9U);
}

void EventRingTest::two_readers_do_not_disturb_each_other() {
  EventRing ring(4);
  std::uint64_t one = 0, two = 0;
  ring.append(events(1));
  QCOMPARE(ring.since(one).size(), 1U);
  ring.append(events(1));
  QCOMPARE(ring.since(two).size(), 2U);
  QCOMPARE(ring.since(one).size(), 1U);
}

LATHE_TEST(EventRingTest)

}  // namespace event_ring_test
#include "event_ring_test.moc"
