// SPDX-License-Identifier: Apache-2.0
#include "app/api/end_watch.h"

#include <unistd.h>
#include <QCoreApplication>
#include <QProcess>
#include <QTest>
#include <array>
#include <string_view>

#include "tests/support/test_class.h"

namespace end_watch_test {

namespace {

using lathe::app::EndWatch;
using std::chrono::hours;
using std::chrono::milliseconds;

/// The behaviour of a child process: a watch that expires ends the process before `live` returns.
struct Life {
  std::string_view name;
  void (*live)();
};

[[noreturn]] void hang() {
  for (;;) ::pause();
}

constexpr std::array kLives = {
    Life{"hangs",
         [] {
           EndWatch watch;
           watch.begin(milliseconds(1), 7);
           hang();
         }},
    Life{"ends in time",
         [] {
           EndWatch watch;
           watch.begin(hours(1), 7);
         }},
    Life{"begins twice",
         [] {
           EndWatch watch;
           watch.begin(milliseconds(1), 7);
           watch.begin(milliseconds(0), 8);
           hang();
         }},
    Life{"never begins", [] { const EndWatch watch; }},
};

/// Lives the life of that name and returns 1; 2 when there is none.
int live(std::string_view name) {
  ::alarm(60);  // a watch that does not bite must fail the test, not hang it
  for (const Life& life : kLives) {
    if (life.name != name) continue;
    life.live();
    return 1;
  }
  return 2;
}

/// The exit status of this program, started anew for the life of that name; -1 when a signal ended it.
int exit_code_of(const char* name) {
  QProcess child;
  child.start(QCoreApplication::applicationFilePath(), {QStringLiteral("end_watch_test"), QStringLiteral("--live"), QString::fromLatin1(name)});
  child.waitForFinished(-1);
  return child.exitStatus() == QProcess::NormalExit ? child.exitCode() : -1;
}

}  // namespace

class EndWatchTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void what_hangs_is_ended_with_the_code() { QCOMPARE(exit_code_of("hangs"), 7); }
  void an_end_in_time_calls_it_off() { QCOMPARE(exit_code_of("ends in time"), 1); }
  void the_first_begin_counts() { QCOMPARE(exit_code_of("begins twice"), 7); }
  void without_begin_it_does_nothing() { QCOMPARE(exit_code_of("never begins"), 1); }
};

int run_test(int argc, char** argv) {
  if (argc == 3 && argv[1] == std::string_view("--live")) return live(argv[2]);
  return lathe::tests::run_class<QCoreApplication, EndWatchTest>(argc, argv);
}

}  // namespace end_watch_test
#include "end_watch_test.moc"
