// SPDX-License-Identifier: Apache-2.0
#include "app/api/draft.h"

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>

#include "app/api/settings.h"
#include "tests/support/test_class.h"

namespace draft_test {

namespace fs = std::filesystem;
using namespace lathe;

namespace {

struct Profile {
  QTemporaryDir folder;
  app::Paths paths = app::make_paths(folder.path().toStdString());
  fs::path file() const { return fs::path(paths.data) / "draft.txt"; }
  void write(const std::string& bytes) const {
    fs::create_directories(paths.data);
    std::ofstream(file(), std::ios::binary) << bytes;
  }
};

}  // namespace

class DraftTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void what_is_kept_is_loaded() {
    const Profile profile;
    QCOMPARE(app::load_draft(profile.paths), std::string());
    for (const std::string text : {"a", "two\nlines \xE2\x82\xAC", "b"}) {
      QVERIFY(app::keep_draft(profile.paths, text).has_value());
      QCOMPARE(app::load_draft(profile.paths), text);
    }
    QVERIFY(app::keep_draft(profile.paths, "").has_value());
    QVERIFY(!fs::exists(profile.file()));
  }

  void too_long_a_draft_leaves_the_old_one() {
    const Profile profile;
    QVERIFY(app::keep_draft(profile.paths, "old").has_value());
    const auto kept = app::keep_draft(profile.paths, std::string(app::kMaxDraftBytes + 1, 'x'));
    QVERIFY(!kept && kept.error().code == engine::ErrorCode::too_large);
    QVERIFY2(kept.error().message.find("4194305") != std::string::npos, kept.error().message.c_str());
    QCOMPARE(app::load_draft(profile.paths), std::string("old"));
  }

  void damaged_files_are_read_over_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("no UTF-8") << QByteArray(
                                     "a\xff"
                                     "b")
                              << QByteArray(
                                     "a\xEF\xBF\xBD"
                                     "b");
    QTest::newRow("empty") << QByteArray() << QByteArray();
    QTest::newRow("cut in a character") << QByteArray("a\xE2\x82") << QByteArray("a\xEF\xBF\xBD");
  }
  void damaged_files_are_read_over() {
    QFETCH(QByteArray, bytes);
    const Profile profile;
    profile.write(bytes.toStdString());
    QTEST(QByteArray::fromStdString(app::load_draft(profile.paths)), "text");
  }

  void a_file_that_is_too_long_is_cut() {
    const Profile profile;
    profile.write(std::string(17 << 20, 'x'));
    QCOMPARE(app::load_draft(profile.paths).size(), app::kMaxDraftBytes);
  }

  void a_folder_in_its_place_is_no_draft() {
    const Profile profile;
    fs::create_directories(profile.file() / "inside");
    QCOMPARE(app::load_draft(profile.paths), std::string());
    QVERIFY(!app::keep_draft(profile.paths, "text"));
    QVERIFY(app::keep_draft(profile.paths, "").has_value());
    QVERIFY(fs::exists(profile.file() / "inside"));
  }

  void settings_are_never_larger_than_can_be_read() {
    const Profile profile;
    {
      const auto settings = app::open_settings(profile.paths.config);
      settings->set("server/port", 4321);
      QVERIFY(settings->flush().has_value());
      settings->set("server/model_name", std::string(17 << 20, 'x'));
      const auto written = settings->flush();
      QVERIFY(!written && written.error().code == engine::ErrorCode::too_large);
      QVERIFY(settings->problem().find("16777216") != std::string::npos);
    }
    const auto again = app::open_settings(profile.paths.config);
    QCOMPARE(again->problem(), std::string());
    QCOMPARE(again->get("server/port").get<int>(), 4321);
  }
};

LATHE_TEST(DraftTest)

}  // namespace draft_test
#include "draft_test.moc"
