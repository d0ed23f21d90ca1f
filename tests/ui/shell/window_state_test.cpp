// SPDX-License-Identifier: GPL-3.0-or-later
// Tests of the state that the window keeps by itself, and of a start with a bad state file.
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLineEdit>
#include <QListView>
#include <QSettings>
#include <QTableView>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/widgets/section.h"
#include "ui/widgets/segmented.h"

namespace window_state_test {

using namespace lathe;
using namespace lathe::tests;

class WindowStateTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void U2_a_kill_leaves_the_geometry_of_a_moment_ago();
  void U3_a_broken_file_is_set_aside_and_told_data();
  void U3_a_broken_file_is_set_aside_and_told();
  void U3_a_folder_in_its_place_is_set_aside();
  void U3_values_of_another_kind_open_the_first_window();
  void U3_a_config_folder_that_cannot_be_written_is_told_once();
  void U3_a_good_file_is_not_mentioned();
  void what_the_docks_show_survives_the_window();
  void an_odd_span_or_level_is_the_default();

 private:
  /// The lines of the log that speak of the window's state.
  static QStringList told(const WindowFixture& fixture) {
    QStringList lines;
    std::uint64_t cursor = 0;
    for (const app::LogLine& line : fixture.workbench->log().lines_since(cursor))
      if (line.text.find("state of the window") != std::string::npos) lines.append(QString::fromStdString(line.text));
    return lines;
  }
  static QStringList set_aside(const QTemporaryDir& profile) {
    return QDir(profile.filePath("config")).entryList({"window.ini.bad-*"}, QDir::AllEntries | QDir::NoDotAndDotDot);
  }
  static void write(const QTemporaryDir& profile, const QByteArray& bytes) {
    QVERIFY(QDir(profile.path()).mkpath("config"));
    QFile file(profile.filePath("config/window.ini"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    QCOMPARE(file.write(bytes), bytes.size());
  }
};

void WindowStateTest::U2_a_kill_leaves_the_geometry_of_a_moment_ago() {
  QTemporaryDir profile;
  WindowFixture fixture({}, profile.path());
  fixture.window->resize(1234, 700);
  // The geometry that another process would find while this one still runs.
  const auto kept = [&profile] {
    return QSettings(profile.filePath("config/window.ini"), QSettings::IniFormat).value("window/geometry").toByteArray();
  };
  QTRY_VERIFY(!kept().isEmpty());
  QTRY_COMPARE(kept(), fixture.window->saveGeometry());
}

void WindowStateTest::U3_a_broken_file_is_set_aside_and_told_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::newRow("noise") << QByteArray("\0\1\2[[[=\nwindow/docks=@ByteArray(\\x0\\xff", 36);
  QTest::newRow("0 bytes") << QByteArray();
  QTest::newRow("another format") << QByteArray("{\"window\": {\"docks\": 1}}\n");
}

void WindowStateTest::U3_a_broken_file_is_set_aside_and_told() {
  QFETCH(QByteArray, bytes);
  QTemporaryDir profile;
  write(profile, bytes);
  {
    WindowFixture fixture({}, profile.path());
    QVERIFY(fixture.window->isVisible());
    QVERIFY(fixture.window->docks().area_visible(ui::PanelArea::left));
    QCOMPARE(set_aside(profile).size(), 1);
    QCOMPARE(told(fixture).size(), 1);
    QVERIFY2(told(fixture)[0].contains(set_aside(profile)[0]), qPrintable(told(fixture)[0]));
    QFile kept(profile.filePath("config/" + set_aside(profile)[0]));
    QVERIFY(kept.open(QIODevice::ReadOnly));
    QCOMPARE(kept.readAll(), bytes);
    fixture.window->resize(1200, 650);
  }
  WindowFixture again({}, profile.path());
  QCOMPARE(again.window->size(), QSize(1200, 650));
  QCOMPARE(told(again), QStringList());
  QCOMPARE(set_aside(profile).size(), 1);
}

void WindowStateTest::U3_a_folder_in_its_place_is_set_aside() {
  QTemporaryDir profile;
  QVERIFY(QDir(profile.path()).mkpath("config/window.ini/inside"));
  WindowFixture fixture({}, profile.path());
  QCOMPARE(set_aside(profile).size(), 1);
  QVERIFY(QFileInfo(profile.filePath("config/" + set_aside(profile)[0] + "/inside")).isDir());
  QCOMPARE(told(fixture).size(), 1);
  QVERIFY(told(fixture)[0].contains("it is not a file"));
  fixture.window->resize(1200, 650);
  fixture.window->close();
  QVERIFY(QFileInfo(profile.filePath("config/window.ini")).isFile());
  QCOMPARE(told(fixture).size(), 1);
}

void WindowStateTest::U3_values_of_another_kind_open_the_first_window() {
  QTemporaryDir profile;
  write(profile, "[window]\ngeometry=7\ndocks=@ByteArray(\\0\\0\\0\\xff\\0)\n");
  WindowFixture fixture({}, profile.path());
  QVERIFY(fixture.window->isVisible());
  QVERIFY(fixture.window->docks().area_visible(ui::PanelArea::left));
  QVERIFY(fixture.window->docks().area_visible(ui::PanelArea::right));
}

void WindowStateTest::U3_a_config_folder_that_cannot_be_written_is_told_once() {
  QTemporaryDir profile;
  // A file where the folder should be: nobody can write in it, root neither.
  QFile file(profile.filePath("config"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.close();
  WindowFixture fixture({}, profile.path());
  QVERIFY(fixture.window->isVisible());
  fixture.window->resize(1200, 650);
  QTRY_COMPARE(told(fixture).size(), 1);
  QVERIFY2(told(fixture)[0].contains("cannot be written"), qPrintable(told(fixture)[0]));
  fixture.window->resize(1210, 660);
  fixture.window->close();
  QCOMPARE(told(fixture).size(), 1);
}

void WindowStateTest::U3_a_good_file_is_not_mentioned() {
  QTemporaryDir profile;
  { WindowFixture first({}, profile.path()); }
  WindowFixture fixture({}, profile.path());
  QCOMPARE(told(fixture), QStringList());
  QCOMPARE(set_aside(profile), QStringList());
}

void WindowStateTest::what_the_docks_show_survives_the_window() {
  QTemporaryDir profile;
  {
    WindowFixture first({}, profile.path());
    first.show_panel("requests");
    first.show_panel("monitor");
    first.find<QLineEdit>("requests.filter")->setText("status:error");
    first.find<QTableView>("requests.table")->setColumnWidth(3, 177);
    first.click("monitor.span.1");
    first.find<QComboBox>("log.level")->setCurrentIndex(3);
    first.click("sampling.section.repetition.heading");
  }
  WindowFixture second({}, profile.path());
  QCOMPARE(second.find<QLineEdit>("requests.filter")->text(), QString("status:error"));
  QCOMPARE(second.find<QTableView>("requests.table")->columnWidth(3), 177);
  QCOMPARE(second.find<ui::Segmented>("monitor.span")->current(), 1);
  QCOMPARE(second.find<QComboBox>("log.level")->currentIndex(), 3);
  QVERIFY(!second.find<ui::Section>("sampling.section.repetition")->is_open());
  QVERIFY(second.find<ui::Section>("sampling.section.randomness")->is_open());
  // The filters hold too, not only their words.
  second.show_panel("log");
  second.workbench->log().warning("engine", "an odd thing");
  second.workbench->log().error("engine", "a bad thing");
  auto* lines = second.find<QListView>("log.list")->model();
  QTRY_COMPARE(lines->rowCount(), 1);
  QVERIFY(second.load_model());
  second.say("Hello?");
  QVERIFY(second.wait_reply());
  second.show_panel("requests");
  QCOMPARE(second.find<QTableView>("requests.table")->model()->rowCount(), 0);
  second.find<QLineEdit>("requests.filter")->clear();
  QTRY_COMPARE(second.find<QTableView>("requests.table")->model()->rowCount(), 1);
}

void WindowStateTest::an_odd_span_or_level_is_the_default() {
  QTemporaryDir profile;
  {
    WindowFixture first({}, profile.path());
    first.workbench->settings().set("monitor/window_s", 77);
    first.workbench->settings().set("log/level", "loud");
  }
  WindowFixture second({}, profile.path());
  QCOMPARE(second.find<ui::Segmented>("monitor.span")->current(), 0);
  QCOMPARE(second.find<QComboBox>("log.level")->currentIndex(), 1);
}

LATHE_WINDOW_TEST(WindowStateTest)

}  // namespace window_state_test
#include "window_state_test.moc"
