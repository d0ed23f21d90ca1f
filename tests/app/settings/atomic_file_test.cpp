// SPDX-License-Identifier: Apache-2.0
#include "app/settings/atomic_file.h"

#include <sys/wait.h>
#include <unistd.h>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/test_class.h"

namespace atomic_file_test {

namespace {

namespace fs = std::filesystem;
using lathe::app::write_file_atomically;

std::string read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

/// Files whose bytes are all alike, so that a mixture is seen.
std::string content_of(int round) { return std::string(200'000, static_cast<char>('a' + round % 26)); }

/// In a child: writes one content after another until it is killed; says so after the first.
[[noreturn]] void write_for_ever(const std::string& path, int started_fd) {
  for (int round = 0;; ++round) {
    if (!write_file_atomically(path, content_of(round))) ::_exit(1);
    if (round == 0 && ::write(started_fd, "x", 1) != 1) ::_exit(1);
  }
}

}  // namespace

class AtomicFileTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void writes_and_replaces();
  void leaves_no_other_file_behind();
  void a_failed_write_keeps_the_old_content();
  void a_missing_folder_is_an_error_with_its_path();
  void U2_a_kill_leaves_a_whole_file();
};

void AtomicFileTest::writes_and_replaces() {
  const QTemporaryDir folder;
  const std::string path = folder.filePath("f").toStdString();
  QVERIFY(write_file_atomically(path, "one").has_value());
  QCOMPARE(read(path), std::string("one"));
  QVERIFY(write_file_atomically(path, std::string("t\0o", 3)).has_value());
  QCOMPARE(read(path), std::string("t\0o", 3));
  QVERIFY(write_file_atomically(path, "").has_value());
  QCOMPARE(read(path), std::string());
}

void AtomicFileTest::leaves_no_other_file_behind() {
  const QTemporaryDir folder;
  QVERIFY(write_file_atomically(folder.filePath("f").toStdString(), "one").has_value());
  const fs::directory_iterator all(folder.path().toStdString());
  QCOMPARE(std::distance(begin(all), end(all)), std::ptrdiff_t{1});
}

void AtomicFileTest::a_failed_write_keeps_the_old_content() {
  const QTemporaryDir folder;
  const std::string path = folder.filePath("f").toStdString();
  QVERIFY(write_file_atomically(path, "old").has_value());
  fs::create_directories(path + ".new/in the way");
  QVERIFY(!write_file_atomically(path, "new").has_value());
  QCOMPARE(read(path), std::string("old"));
}

void AtomicFileTest::a_missing_folder_is_an_error_with_its_path() {
  const QTemporaryDir folder;
  const auto written = write_file_atomically(folder.filePath("no/such/f").toStdString(), "x");
  QVERIFY(!written.has_value());
  QVERIFY(written.error().where.find("no/such/f") != std::string::npos);
  QVERIFY(written.error().message.find("No such file") != std::string::npos);
}

void AtomicFileTest::U2_a_kill_leaves_a_whole_file() {
  const QTemporaryDir folder;
  const std::string path = folder.filePath("f").toStdString();
  for (int kill_after_us : {0, 300, 1'000, 2'500, 5'000, 11'000}) {
    int started[2];
    QCOMPARE(::pipe(started), 0);
    const pid_t child = ::fork();
    if (child == 0) write_for_ever(path, started[1]);
    char byte = 0;
    QCOMPARE(::read(started[0], &byte, 1), ssize_t{1});
    ::usleep(static_cast<useconds_t>(kill_after_us));  // a moment, not a wait: any moment must do
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(started[0]);
    ::close(started[1]);
    const std::string content = read(path);
    QCOMPARE(content.size(), std::size_t{200'000});
    QCOMPARE(content, std::string(200'000, content[0]));
  }
}

LATHE_TEST(AtomicFileTest)

}  // namespace atomic_file_test
#include "atomic_file_test.moc"
