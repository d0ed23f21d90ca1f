// SPDX-License-Identifier: Apache-2.0
#include "app/api/end_watch.h"

#include <sys/wait.h>
#include <unistd.h>
#include <QTest>
#include <string>

namespace {

using lathe::app::EndWatch;
using std::chrono::hours;
using std::chrono::milliseconds;

/// The exit status of a child process that runs `work` and then ends with 1; -1 when a signal ended it.
template <class Work>
int exit_code_of(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // a watch that does not bite must fail the test, not hang it
    work();
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

class EndWatchTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    if (std::string(LATHE_SANITIZERS) == "thread") QSKIP("skipped: the thread sanitizer does not follow threads of a fork");
  }
  void what_hangs_is_ended_with_the_code();
  void an_end_in_time_calls_it_off();
  void the_first_begin_counts();
  void without_begin_it_does_nothing();
};

void EndWatchTest::what_hangs_is_ended_with_the_code() {
  QCOMPARE(exit_code_of([] {
             EndWatch watch;
             watch.begin(milliseconds(1), 7);
             for (;;) ::pause();
           }),
           7);
}

void EndWatchTest::an_end_in_time_calls_it_off() {
  QCOMPARE(exit_code_of([] {
             EndWatch watch;
             watch.begin(hours(1), 7);
           }),
           1);
}

void EndWatchTest::the_first_begin_counts() {
  QCOMPARE(exit_code_of([] {
             EndWatch watch;
             watch.begin(milliseconds(1), 7);
             watch.begin(milliseconds(0), 8);
             for (;;) ::pause();
           }),
           7);
}

void EndWatchTest::without_begin_it_does_nothing() {
  QCOMPARE(exit_code_of([] { const EndWatch watch; }), 1);
}

QTEST_GUILESS_MAIN(EndWatchTest)
#include "end_watch_test.moc"
