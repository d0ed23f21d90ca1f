// SPDX-License-Identifier: Apache-2.0
// U3: HOME unset. The substitute under the temporary folder has a name that others can guess.
#include "app/workbench/home_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>

#include "tests/support/test_class.h"

namespace home_folder_test {

namespace {

namespace fs = std::filesystem;
using lathe::app::find_home_folder;
using lathe::app::HomeFolder;
using lathe::app::private_folder;

constexpr uid_t kNobodyKnown = 54321;  // a user without a line in the system's list

fs::perms mode_of(const std::string& path) { return fs::symlink_status(path).permissions(); }

/// find_home_folder() as a user that the system does not know, in a child: "path\nproblem".
std::string asked_as_a_stranger() {
  int answer[2];
  if (::pipe(answer) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(kNobodyKnown) != 0 || ::setuid(kNobodyKnown) != 0) ::_exit(1);
    const HomeFolder home = find_home_folder();
    const std::string text = home.path + "\n" + home.problem;
    ::_exit(::write(answer[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(answer[1]);
  std::string text(4096, '\0');
  const ssize_t n = ::read(answer[0], text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  ::close(answer[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

}  // namespace

class HomeFolderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void U3_a_private_folder_is_made_and_found_again();
  void U3_what_is_not_a_folder_of_ours_is_left_alone_data();
  void U3_what_is_not_a_folder_of_ours_is_left_alone();
  void U3_a_folder_of_another_user_is_left_alone();
  void U3_where_nothing_can_be_made_it_is_said();
  void U3_a_user_without_a_home_is_told_where_files_lie();

 private:
  std::string path(const char* name) const { return folder_->filePath(name).toStdString(); }
  std::unique_ptr<QTemporaryDir> folder_;
};

void HomeFolderTest::U3_a_private_folder_is_made_and_found_again() {
  QCOMPARE(private_folder(path("lathe")), path("lathe"));
  QVERIFY(mode_of(path("lathe")) == fs::perms::owner_all);
  QCOMPARE(private_folder(path("lathe")), path("lathe"));
}

void HomeFolderTest::U3_what_is_not_a_folder_of_ours_is_left_alone_data() {
  QTest::addColumn<QByteArray>("what");
  for (const char* what : {"link", "dangling link", "file", "open folder"}) QTest::newRow(what) << QByteArray(what);
}

void HomeFolderTest::U3_what_is_not_a_folder_of_ours_is_left_alone() {
  QFETCH(QByteArray, what);
  fs::create_directory(path("target"));
  fs::permissions(path("target"), fs::perms::owner_all);
  if (what == "link") fs::create_directory_symlink(path("target"), path("lathe"));
  if (what == "dangling link") fs::create_directory_symlink(path("nowhere"), path("lathe"));
  if (what == "file") std::ofstream(path("lathe")) << "x";
  if (what == "open folder") {
    fs::create_directory(path("lathe"));
    fs::permissions(path("lathe"), fs::perms::all);
  }
  const std::string made = private_folder(path("lathe"));
  QVERIFY2(made.starts_with(path("lathe-")), made.c_str());
  QVERIFY(fs::is_directory(fs::symlink_status(made)));
  QVERIFY(mode_of(made) == fs::perms::owner_all);
  QVERIFY(fs::is_empty(path("target")) && !fs::exists(path("nowhere")));
}

void HomeFolderTest::U3_a_folder_of_another_user_is_left_alone() {
  fs::create_directory(path("lathe"));
  fs::permissions(path("lathe"), fs::perms::owner_all);
  if (::chown(path("lathe").c_str(), kNobodyKnown, kNobodyKnown) != 0) QSKIP("skipped: only root can give a folder away");
  QVERIFY(private_folder(path("lathe")).starts_with(path("lathe-")));
}

void HomeFolderTest::U3_where_nothing_can_be_made_it_is_said() {
  QCOMPARE(private_folder(path("not/there")), std::string());
}

void HomeFolderTest::U3_a_user_without_a_home_is_told_where_files_lie() {
  if (::geteuid() != 0) QSKIP("skipped: only root can become another user");
  qunsetenv("HOME");
  qputenv("TMPDIR", folder_->path().toUtf8());
  fs::permissions(folder_->path().toStdString(), fs::perms::all | fs::perms::sticky_bit);
  const std::string wanted = path("lathe-54321");
  const std::string told = asked_as_a_stranger();
  QVERIFY2(told.starts_with(wanted + "\nHOME is not set"), told.c_str());
  QVERIFY(told.find(wanted, wanted.size()) != std::string::npos);
  QVERIFY(mode_of(wanted) == fs::perms::owner_all);
  QCOMPARE(asked_as_a_stranger(), told);  // the second start finds the files of the first
  qunsetenv("TMPDIR");
}

LATHE_TEST(HomeFolderTest)

}  // namespace home_folder_test
#include "home_folder_test.moc"
