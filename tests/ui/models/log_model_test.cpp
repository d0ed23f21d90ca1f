// SPDX-License-Identifier: GPL-3.0-or-later
#include <QAbstractItemModelTester>
#include <QTest>

#include "tests/support/test_class.h"
#include "ui/models/log_model.h"

namespace log_model_test {

using lathe::app::LogLevel;
using lathe::app::LogLine;
using lathe::ui::LogModel;

namespace {

std::vector<LogLine> lines(int n, LogLevel level = LogLevel::info) {
  std::vector<LogLine> out;
  for (int i = 0; i < n; ++i)
    out.push_back({static_cast<std::uint64_t>(i), 0, level, "engine", "line " + std::to_string(i)});
  return out;
}

}  // namespace

class LogModelTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void is_a_sound_model() {
    LogModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.append(lines(3));
    model.set_filter(LogLevel::warning, {});
    model.append(lines(2, LogLevel::error));
    model.clear();
  }
  void debug_lines_are_hidden_at_first() {
    LogModel model;
    model.append(lines(2, LogLevel::debug));
    QCOMPARE(model.rowCount(), 0);
    model.set_filter(LogLevel::debug, {});
    QCOMPARE(model.rowCount(), 2);
  }
  void the_filter_reads_every_word_of_a_line() {
    LogModel model;
    model.append(lines(12));
    model.set_filter(LogLevel::info, "LINE 11");
    QCOMPARE(model.rowCount(), 1);
    model.set_filter(LogLevel::info, "engine");
    QCOMPARE(model.rowCount(), 12);
  }
  void the_number_of_lines_is_bounded() {
    LogModel model;
    for (int i = 0; i < 6; ++i) model.append(lines(10'000));
    QCOMPARE(model.rowCount(), 50'000);
  }
  void the_text_holds_what_is_shown() {
    LogModel model;
    model.append(lines(2));
    QCOMPARE(model.text().count('\n'), 1);
    QVERIFY(model.text().contains("line 1"));
  }
};

LATHE_TEST(LogModelTest)

}  // namespace log_model_test
#include "log_model_test.moc"
