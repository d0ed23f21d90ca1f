// SPDX-License-Identifier: Apache-2.0
#include "app/api/paths.h"

#include <pwd.h>
#include <unistd.h>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "tests/support/test_class.h"

namespace paths_test {

using lathe::app::make_paths;
using lathe::app::Paths;

class PathsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init();
  void xdg_variables_are_followed();
  void without_them_the_usual_folders_are_used();
  void relative_xdg_variables_are_ignored();
  void a_profile_holds_everything();
  void a_relative_profile_becomes_absolute();
  void U3_without_home_the_list_of_users_is_asked_data();
  void U3_without_home_the_list_of_users_is_asked();
  void U3_home_is_not_looked_for_when_nothing_needs_it();
  void resources_come_from_the_environment_first();
  void resources_that_do_not_exist_are_empty();
  void resources_of_the_source_tree_are_found();
};

void PathsTest::init() {
  for (const char* name : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "LATHE_RESOURCES"}) {
    qunsetenv(name);
  }
  qputenv("HOME", "/home/somebody");
}

void PathsTest::xdg_variables_are_followed() {
  qputenv("XDG_CONFIG_HOME", "/c");
  qputenv("XDG_DATA_HOME", "/d");
  qputenv("XDG_CACHE_HOME", "/e");
  qputenv("XDG_STATE_HOME", "/f");
  const Paths paths = make_paths("");
  QCOMPARE(paths.config, std::string("/c/lathe"));
  QCOMPARE(paths.data, std::string("/d/lathe"));
  QCOMPARE(paths.cache, std::string("/e/lathe"));
  QCOMPARE(paths.state, std::string("/f/lathe"));
}

void PathsTest::without_them_the_usual_folders_are_used() {
  const Paths paths = make_paths("");
  QCOMPARE(paths.config, std::string("/home/somebody/.config/lathe"));
  QCOMPARE(paths.data, std::string("/home/somebody/.local/share/lathe"));
  QCOMPARE(paths.cache, std::string("/home/somebody/.cache/lathe"));
  QCOMPARE(paths.state, std::string("/home/somebody/.local/state/lathe"));
}

void PathsTest::relative_xdg_variables_are_ignored() {
  qputenv("XDG_CONFIG_HOME", "relative");
  QCOMPARE(make_paths("").config, std::string("/home/somebody/.config/lathe"));
}

void PathsTest::a_profile_holds_everything() {
  qputenv("XDG_CONFIG_HOME", "/c");
  const Paths paths = make_paths("/p");
  QCOMPARE(paths.config, std::string("/p/config"));
  QCOMPARE(paths.data, std::string("/p/data"));
  QCOMPARE(paths.cache, std::string("/p/cache"));
  QCOMPARE(paths.state, std::string("/p/state"));
}

void PathsTest::a_relative_profile_becomes_absolute() {
  QVERIFY(QString::fromStdString(make_paths("p").config).startsWith('/'));
}

void PathsTest::U3_without_home_the_list_of_users_is_asked_data() {
  QTest::addColumn<QByteArray>("home");
  QTest::newRow("unset") << QByteArray();
  QTest::newRow("empty") << QByteArray("");
  QTest::newRow("relative") << QByteArray("somewhere");
}

void PathsTest::U3_without_home_the_list_of_users_is_asked() {
  QFETCH(QByteArray, home);
  home.isNull() ? qunsetenv("HOME") : qputenv("HOME", home);
  const passwd* user = ::getpwuid(::geteuid());
  if (user == nullptr || !std::filesystem::is_directory(user->pw_dir)) QSKIP("skipped: this user has no home");
  const Paths paths = make_paths("");
  QCOMPARE(paths.config, user->pw_dir + std::string("/.config/lathe"));
  QCOMPARE(paths.state, user->pw_dir + std::string("/.local/state/lathe"));
  QCOMPARE(paths.problem, std::string());
}

void PathsTest::U3_home_is_not_looked_for_when_nothing_needs_it() {
  qunsetenv("HOME");
  const QTemporaryDir temporary;
  qputenv("TMPDIR", temporary.path().toUtf8());
  for (const char* name : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"}) qputenv(name, "/x");
  QCOMPARE(make_paths("").config, std::string("/x/lathe"));
  QCOMPARE(make_paths("/p").problem, std::string());
  QVERIFY(std::filesystem::is_empty(temporary.path().toStdString()));
  qunsetenv("TMPDIR");
}

void PathsTest::resources_come_from_the_environment_first() {
  const QTemporaryDir folder;
  qputenv("LATHE_RESOURCES", folder.path().toUtf8());
  QCOMPARE(make_paths("").resources, folder.path().toStdString());
}

void PathsTest::resources_that_do_not_exist_are_empty() {
  qputenv("LATHE_RESOURCES", "/not/there");
  QVERIFY(make_paths("").resources.empty());
}

void PathsTest::resources_of_the_source_tree_are_found() { QVERIFY(make_paths("").resources.ends_with("/resources")); }

LATHE_TEST(PathsTest)

}  // namespace paths_test
#include "paths_test.moc"
