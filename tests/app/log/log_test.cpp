// SPDX-License-Identifier: Apache-2.0
#include "app/api/log.h"

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "app/log/printable.h"
#include "tests/support/test_class.h"

namespace log_test {

namespace {

using lathe::app::Log;
using lathe::app::LogLevel;
using lathe::app::LogOptions;
using lathe::app::make_log;
using lathe::app::printable;

std::unique_ptr<Log> quiet_log(LogLevel level = LogLevel::info, std::string file = {}) {
  return make_log({.to_stderr = false, .level = level, .file = std::move(file)});
}

std::string read(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

}  // namespace

class LogTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void lines_come_back_in_order();
  void the_cursor_moves_behind_what_was_read();
  void lower_levels_are_left_out();
  void a_line_knows_its_time_level_and_category();
  void the_last_fifty_thousand_lines_are_kept();
  void a_cursor_from_the_future_reads_nothing();
  void S22_control_characters_are_escaped();
  void S22_long_lines_are_cut();
  void the_file_has_the_lines();
  void a_file_may_come_later();
  void an_unwritable_file_is_a_warning();
  void threads_may_write_at_once();
  void printable_keeps_other_languages();
  void printable_escapes_c1_controls();
  void printable_escapes_broken_utf8();
  void printable_cuts_at_a_character();
};

void LogTest::lines_come_back_in_order() {
  const auto log = quiet_log();
  for (int i = 0; i < 10; ++i) log->info("test", std::to_string(i));
  std::uint64_t cursor = 0;
  const auto lines = log->lines_since(cursor);
  QCOMPARE(lines.size(), std::size_t{10});
  for (std::size_t i = 0; i < 10; ++i) {
    QCOMPARE(lines[i].text, std::to_string(i));
    QCOMPARE(lines[i].sequence, std::uint64_t{i});
  }
}

void LogTest::the_cursor_moves_behind_what_was_read() {
  const auto log = quiet_log();
  std::uint64_t cursor = 0;
  log->info("test", "a");
  QCOMPARE(log->lines_since(cursor).size(), std::size_t{1});
  QVERIFY(log->lines_since(cursor).empty());
  log->info("test", "b");
  const auto lines = log->lines_since(cursor);
  QCOMPARE(lines.size(), std::size_t{1});
  QCOMPARE(lines[0].text, std::string("b"));
}

void LogTest::lower_levels_are_left_out() {
  const auto log = quiet_log(LogLevel::warning);
  log->write(LogLevel::debug, "test", "d");
  log->info("test", "i");
  log->warning("test", "w");
  log->error("test", "e");
  std::uint64_t cursor = 0;
  QCOMPARE(log->lines_since(cursor).size(), std::size_t{2});
}

void LogTest::a_line_knows_its_time_level_and_category() {
  const auto log = quiet_log();
  log->error("engine", "x");
  std::uint64_t cursor = 0;
  const auto line = log->lines_since(cursor).at(0);
  QCOMPARE(line.category, std::string("engine"));
  QVERIFY(line.level == LogLevel::error);
  QCOMPARE(name_of(line.level), std::string_view("error"));
  QVERIFY(line.unix_ms > 1'600'000'000'000);
}

void LogTest::the_last_fifty_thousand_lines_are_kept() {
  const auto log = quiet_log();
  for (int i = 0; i < 50'010; ++i) log->info("test", std::to_string(i));
  std::uint64_t cursor = 0;
  const auto lines = log->lines_since(cursor);
  QCOMPARE(lines.size(), std::size_t{50'000});
  QCOMPARE(lines.front().text, std::string("10"));
  QCOMPARE(cursor, std::uint64_t{50'010});
}

void LogTest::a_cursor_from_the_future_reads_nothing() {
  const auto log = quiet_log();
  log->info("test", "a");
  std::uint64_t cursor = 99;
  QVERIFY(log->lines_since(cursor).empty());
  QCOMPARE(cursor, std::uint64_t{1});
}

void LogTest::S22_control_characters_are_escaped() {
  const auto log = quiet_log();
  log->info("te\nst", "a\nINFO forged\r\x1b[31mred\x07");
  std::uint64_t cursor = 0;
  const auto line = log->lines_since(cursor).at(0);
  QCOMPARE(line.text, std::string("a\\nINFO forged\\r\\x1b[31mred\\x07"));
  QCOMPARE(line.category, std::string("te\\nst"));
}

void LogTest::S22_long_lines_are_cut() {
  const auto log = quiet_log();
  log->info("test", std::string(1'000'000, 'x'));
  std::uint64_t cursor = 0;
  const auto line = log->lines_since(cursor).at(0);
  QVERIFY(line.text.size() < 8300);
  QVERIFY(line.text.ends_with("(1000000 bytes)"));
}

void LogTest::the_file_has_the_lines() {
  const QTemporaryDir folder;
  const std::string file = folder.filePath("lathe.log").toStdString();
  const auto log = quiet_log(LogLevel::info, file);
  log->info("engine", "loaded");
  log->write(LogLevel::debug, "engine", "hidden");
  QVERIFY(read(file).find("info engine: loaded\n") != std::string::npos);
  QVERIFY(read(file).find("hidden") == std::string::npos);
}

void LogTest::a_file_may_come_later() {
  const QTemporaryDir folder;
  const std::string file = folder.filePath("not/there/yet/lathe.log").toStdString();
  const auto log = quiet_log();
  log->info("engine", "before");
  log->keep_file(file);
  log->info("engine", "after");
  QVERIFY(read(file).find("info engine: after\n") != std::string::npos);
  QVERIFY(read(file).find("before") == std::string::npos);
}

void LogTest::an_unwritable_file_is_a_warning() {
  const QTemporaryDir folder;
  const std::string file = folder.filePath("log").toStdString();
  std::filesystem::create_directories(file);
  const auto log = quiet_log(LogLevel::info, file);
  std::uint64_t cursor = 0;
  const auto lines = log->lines_since(cursor);
  QCOMPARE(lines.size(), std::size_t{1});
  QVERIFY(lines[0].level == LogLevel::warning);
}

void LogTest::threads_may_write_at_once() {
  const auto log = quiet_log();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        std::uint64_t cursor = 0;
        for (int i = 0; i < 500; ++i) {
          log->info("test", "x");
          log->lines_since(cursor);
        }
      });
    }
  }
  std::uint64_t cursor = 0;
  const auto lines = log->lines_since(cursor);
  QCOMPARE(lines.size(), std::size_t{2000});
  for (std::size_t i = 0; i < lines.size(); ++i) QCOMPARE(lines[i].sequence, std::uint64_t{i});
}

void LogTest::printable_keeps_other_languages() {
  for (const std::string text : {"", "plain", "Größe", "漢字", "\U0001F600"}) QCOMPARE(printable(text), text);
}

void LogTest::printable_escapes_c1_controls() {
  QCOMPARE(printable("a\xc2\x9b"
                     "31m"),
           std::string("a\\xc2\\x9b31m"));
  QCOMPARE(printable("\x7f"), std::string("\\x7f"));
  QCOMPARE(printable("\xc2\xa0"), std::string("\xc2\xa0"));
}

void LogTest::printable_escapes_broken_utf8() {
  QCOMPARE(printable("a\xff\xc3"), std::string("a\\xff\\xc3"));
  QCOMPARE(printable("\xc0\xaf\xe2\x82"), std::string("\\xc0\\xaf\\xe2\\x82"));
  QCOMPARE(printable(std::string(10, '\x80'), 2), std::string("\\x80\\x80... (10 bytes)"));
}

void LogTest::printable_cuts_at_a_character() {
  QCOMPARE(printable("ää", 3), std::string("ä... (4 bytes)"));
  QCOMPARE(printable("abc", 3), std::string("abc"));
}

LATHE_TEST(LogTest)

}  // namespace log_test
#include "log_test.moc"
