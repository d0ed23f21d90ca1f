// SPDX-License-Identifier: Apache-2.0
#include "app/cli/line_reader.h"

#include <unistd.h>
#include <QTest>
#include <utility>

#include "tests/support/test_class.h"

namespace line_reader_test {

namespace {

using lathe::app::LineReader;

/// A reader on a pipe, with another pipe to interrupt it.
struct Pipes {
  int data[2] = {-1, -1}, interrupt[2] = {-1, -1};
  Pipes() {
    if (::pipe(data) != 0 || ::pipe(interrupt) != 0) qFatal("no pipe");
  }
  ~Pipes() {
    for (const int fd : {data[0], data[1], interrupt[0], interrupt[1]}) {
      if (fd >= 0) ::close(fd);
    }
  }
  void write(const std::string& text) const {
    if (::write(data[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) qFatal("short write");
  }
  void end() { ::close(std::exchange(data[1], -1)); }
};

}  // namespace

class LineReaderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void lines_come_one_by_one();
  void the_last_line_may_lack_its_end();
  void windows_line_ends_are_taken_off();
  void an_empty_line_is_a_line();
  void the_end_stays_the_end();
  void a_long_line_comes_whole();
  void an_interrupt_ends_the_waiting();
  void lines_that_were_read_come_before_an_interrupt();
  void the_rest_comes_as_it_is();
  void the_rest_is_bounded();
  void an_interrupt_ends_the_waiting_for_the_rest();
};

void LineReaderTest::lines_come_one_by_one() {
  const Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  pipes.write("one\ntwo\n");
  QCOMPARE(reader.next().value(), std::string("one"));
  QCOMPARE(reader.next().value(), std::string("two"));
}

void LineReaderTest::the_last_line_may_lack_its_end() {
  Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  pipes.write("one\ntwo");
  pipes.end();
  QCOMPARE(reader.next().value(), std::string("one"));
  QCOMPARE(reader.next().value(), std::string("two"));
  QVERIFY(!reader.next().has_value());
}

void LineReaderTest::windows_line_ends_are_taken_off() {
  const Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  pipes.write("one\r\n");
  QCOMPARE(reader.next().value(), std::string("one"));
}

void LineReaderTest::an_empty_line_is_a_line() {
  const Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  pipes.write("\n\nx\n");
  QCOMPARE(reader.next().value(), std::string());
  QCOMPARE(reader.next().value(), std::string());
  QCOMPARE(reader.next().value(), std::string("x"));
}

void LineReaderTest::the_end_stays_the_end() {
  Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  pipes.end();
  QVERIFY(!reader.next().has_value());
  QVERIFY(!reader.next().has_value());
}

void LineReaderTest::a_long_line_comes_whole() {
  Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  const std::string line(50'000, 'x');
  pipes.write(line + "\n");
  QCOMPARE(reader.next().value(), line);
}

void LineReaderTest::an_interrupt_ends_the_waiting() {
  const Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  QCOMPARE(::write(pipes.interrupt[1], "x", 1), ssize_t{1});
  QVERIFY(!reader.next().has_value());
}

void LineReaderTest::lines_that_were_read_come_before_an_interrupt() {
  const Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  pipes.write("one\ntwo\n");
  QCOMPARE(reader.next().value(), std::string("one"));
  QCOMPARE(::write(pipes.interrupt[1], "x", 1), ssize_t{1});
  QCOMPARE(reader.next().value(), std::string("two"));
}

void LineReaderTest::the_rest_comes_as_it_is() {
  Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  pipes.write("one\ntwo\r\n\nthree");
  pipes.end();
  QCOMPARE(reader.next().value(), std::string("one"));
  QCOMPARE(reader.rest(1000).value(), std::string("two\r\n\nthree"));
  QCOMPARE(reader.rest(1000).value(), std::string());
}

void LineReaderTest::the_rest_is_bounded() {
  const Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  pipes.write(std::string(11, 'x'));  // and no end
  QVERIFY(reader.rest(10).value().size() > 10);
}

void LineReaderTest::an_interrupt_ends_the_waiting_for_the_rest() {
  const Pipes pipes;
  LineReader reader(pipes.data[0], pipes.interrupt[0]);
  pipes.write("half");
  if (::write(pipes.interrupt[1], "x", 1) != 1) qFatal("short write");
  QVERIFY(!reader.rest(1000).has_value());
}

LATHE_TEST(LineReaderTest)

}  // namespace line_reader_test
#include "line_reader_test.moc"
