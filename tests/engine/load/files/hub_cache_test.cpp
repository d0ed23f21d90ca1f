// SPDX-License-Identifier: Apache-2.0
// The folder of a repository in the Hugging Face cache, given instead of a snapshot in it.
#include "engine/load/files/hub_cache.h"

#include <sys/stat.h>

#include <QTemporaryDir>
#include <QTest>
#include <chrono>
#include <filesystem>

#include "engine/api/hub_snapshot.h"
#include "engine/load/files/model_folder.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace hub_cache_test {

namespace fs = std::filesystem;
using namespace lathe::engine;
using lathe::tests::write_file;

namespace {

/// A repository of the cache with snapshots "old" and "new", the second a minute younger.
fs::path repository_in(const fs::path& cache) {
  const fs::path repository = cache / "models--org--tiny-1b";
  fs::create_directories(repository / "blobs");
  fs::create_directories(repository / "refs");
  for (const char* name : {"old", "new"}) {
    fs::create_directories(repository / "snapshots" / name);
    write_file((repository / "snapshots" / name / "config.json").string(), "{}");
  }
  fs::last_write_time(repository / "snapshots/old",
                      fs::last_write_time(repository / "snapshots/new") - std::chrono::minutes(1));
  return repository;
}

}  // namespace

class HubCacheTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void repositories_open_by_their_snapshot();
  void repositories_without_a_main_branch_open_the_newest();
  void repositories_without_a_snapshot_say_so();
};

void HubCacheTest::repositories_open_by_their_snapshot() {
  const QTemporaryDir temporary;
  const fs::path repository = repository_in(temporary.path().toStdString());
  write_file((repository / "refs/main").string(), "old\n");
  for (const char* path : {"", "/", "/snapshots", "/snapshots/"}) {
    const auto folder = ModelFolder::open(repository.string() + path);
    QVERIFY2(folder.has_value(), folder ? "" : folder.error().message.c_str());
    QCOMPARE(folder->path(), fs::canonical(repository / "snapshots/old").string());
    QCOMPARE(folder->name(), std::string("org/tiny-1b"));
    QVERIFY(folder->warnings().empty());
  }
  QCOMPARE(main_hub_snapshot(repository.string()), (repository / "snapshots/old").string());
  const std::string snapshot = (repository / "snapshots/old").string();
  QVERIFY(main_hub_snapshot(snapshot).empty() && hub_snapshot(snapshot).empty());
}

void HubCacheTest::repositories_without_a_main_branch_open_the_newest() {
  const QTemporaryDir temporary;
  const fs::path repository = repository_in(temporary.path().toStdString());
  for (const char* main : {"", "gone", "../..", "/etc", "."}) {  // "": no file
    if (*main != '\0') write_file((repository / "refs/main").string(), main);
    const auto folder = ModelFolder::open(repository.string());
    QCOMPARE(folder->path(), fs::canonical(repository / "snapshots/new").string());
    QVERIFY(folder->warnings().size() == 1 &&
            folder->warnings().front().find("none of the 2 snapshots") != std::string::npos);
    QVERIFY(main_hub_snapshot(repository.string()).empty());
  }
  fs::remove(repository / "refs/main");
  QCOMPARE(::mkfifo((repository / "refs/main").c_str(), 0600), 0);  // which does not block
  fs::remove_all(repository / "snapshots/new");
  const auto only = ModelFolder::open(repository.string());
  QCOMPARE(only->path(), fs::canonical(repository / "snapshots/old").string());
  QVERIFY(only->warnings().empty());
}

void HubCacheTest::repositories_without_a_snapshot_say_so() {
  const QTemporaryDir temporary;
  const fs::path repository = repository_in(temporary.path().toStdString());
  fs::remove_all(repository / "snapshots");
  fs::create_directories(repository / "snapshots");
  write_file((repository / "blobs/ab12.incomplete").string(), "x");
  const auto folder = ModelFolder::open(repository.string());
  QVERIFY(!folder && folder.error().code == ErrorCode::model_refused);
  QVERIFY2(folder.error().message.find("has no snapshot") != std::string::npos, folder.error().message.c_str());
  QVERIFY2(folder.error().message.find("ab12.incomplete") != std::string::npos, folder.error().message.c_str());
}

LATHE_TEST(HubCacheTest)

}  // namespace hub_cache_test
#include "hub_cache_test.moc"
