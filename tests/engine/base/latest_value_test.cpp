// SPDX-License-Identifier: Apache-2.0
#include <QObject>
#include <QtTest>

#include <thread>

#include "engine/base/latest_value.h"
#include "tests/support/test_class.h"

namespace latest_value_test {

using lathe::engine::LatestValue;

class LatestValueTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void the_first_value_is_there_at_once();
  void the_newest_value_is_read();
  void a_reader_keeps_the_value_that_it_took();
  void readers_never_see_time_go_back();
};

void LatestValueTest::the_first_value_is_there_at_once() {
  const LatestValue<int> value(std::make_shared<const int>(3));
  QCOMPARE(*value.get(), 3);
}

void LatestValueTest::the_newest_value_is_read() {
  LatestValue<int> value(std::make_shared<const int>(0));
  value.publish(std::make_shared<const int>(1));
  value.publish(std::make_shared<const int>(2));
  QCOMPARE(*value.get(), 2);
}

void LatestValueTest::a_reader_keeps_the_value_that_it_took() {
  LatestValue<int> value(std::make_shared<const int>(1));
  const auto taken = value.get();
  value.publish(std::make_shared<const int>(2));
  QCOMPARE(*taken, 1);
}

void LatestValueTest::readers_never_see_time_go_back() {
  constexpr int kLast = 20000;
  LatestValue<int> value(std::make_shared<const int>(0));
  std::jthread writer([&value] {
    for (int i = 1; i <= kLast; ++i) value.publish(std::make_shared<const int>(i));
  });
  int seen = 0;
  while (seen < kLast) {
    const int now = *value.get();
    QVERIFY(now >= seen);
    seen = now;
  }
}

LATHE_TEST(LatestValueTest)

}  // namespace latest_value_test
#include "latest_value_test.moc"
