// SPDX-License-Identifier: Apache-2.0
#include "app/cli/stop_signals.h"

#include <sys/wait.h>
#include <unistd.h>
#include <QTest>

#include "tests/support/test_class.h"

namespace stop_signals_test {

namespace {

using lathe::app::StopSignals;
using std::chrono::milliseconds;

}  // namespace

/// The signals are sent to the calling thread: those that Qt Test started before do not block them.
class StopSignalsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void nothing_is_requested_at_first();
  void each_signal_is_noticed_data();
  void each_signal_is_noticed();
  void it_stays_requested();
  void forget_starts_over();
  void a_second_signal_ends_the_program();
  void afterwards_signals_are_as_before();
};

void StopSignalsTest::nothing_is_requested_at_first() {
  StopSignals signals;
  QVERIFY(!signals.requested());
  QVERIFY(!signals.wait(milliseconds(1)));
}

void StopSignalsTest::each_signal_is_noticed_data() {
  QTest::addColumn<int>("number");
  QTest::newRow("SIGINT") << SIGINT;
  QTest::newRow("SIGTERM") << SIGTERM;
}

void StopSignalsTest::each_signal_is_noticed() {
  QFETCH(int, number);
  StopSignals signals;
  ::raise(number);
  QVERIFY(signals.wait(milliseconds(-1)));
  QVERIFY(signals.requested());
}

void StopSignalsTest::it_stays_requested() {
  StopSignals signals;
  ::raise(SIGINT);
  for (int i = 0; i < 3; ++i) QVERIFY(signals.requested());
}

void StopSignalsTest::forget_starts_over() {
  StopSignals signals;
  ::raise(SIGINT);
  QVERIFY(signals.requested());
  signals.forget();
  QVERIFY(!signals.requested());
  ::raise(SIGINT);
  QVERIFY(signals.requested());
}

void StopSignalsTest::a_second_signal_ends_the_program() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGTERM, SIG_DFL);
    StopSignals signals;
    ::raise(SIGTERM);
    if (!signals.requested()) ::_exit(1);
    ::raise(SIGTERM);
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  QVERIFY(WIFSIGNALED(status));
  QCOMPARE(WTERMSIG(status), SIGTERM);
}

void StopSignalsTest::afterwards_signals_are_as_before() {
  sigset_t before{}, after{};
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  { StopSignals signals; }
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  for (const int number : {SIGINT, SIGTERM}) QCOMPARE(sigismember(&after, number), sigismember(&before, number));
}

LATHE_TEST(StopSignalsTest)

}  // namespace stop_signals_test
#include "stop_signals_test.moc"
