// SPDX-License-Identifier: GPL-3.0-or-later
// The text in the composer: bounded, kept apart from the settings, and back at the next start.
#include <QDir>
#include <QFile>
#include <QMimeData>

#include "app/api/draft.h"
#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/panels/chat/draft_field.h"
#include "ui/widgets/inline_message.h"

namespace draft_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

ui::DraftField* field_of(WindowFixture& fixture) { return fixture.find<ui::DraftField>("composer.field"); }

QByteArray read(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

class Paste : public ui::DraftField {
 public:
  using DraftField::insertFromMimeData;
};

void paste(ui::DraftField* field, const QString& text) {
  QMimeData data;
  data.setText(text);
  static_cast<Paste*>(field)->insertFromMimeData(&data);
}

}  // namespace

class ComposerDraftTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_draft_survives_and_costs_no_setting() {
    QTemporaryDir profile;
    {
      WindowFixture first({}, profile.path());
      first.workbench->settings().set("server/port", 4321);
      first.type("a draft of mine");
      QTRY_COMPARE(app::load_draft(first.workbench->paths()), std::string("a draft of mine"));
      first.type("a draft of mine, ended");
    }
    QVERIFY(!read(profile.filePath("config/settings.json")).contains("a draft"));
    WindowFixture second({}, profile.path());
    QCOMPARE(field_of(second)->toPlainText(), QString("a draft of mine, ended"));
    second.type("");
    second.window->close();
    QCOMPARE(app::load_draft(second.workbench->paths()), std::string());
  }

  void the_draft_of_a_new_chat_goes_with_it() {
    WindowFixture fixture;
    fixture.type("a draft of mine");
    QTRY_COMPARE(app::load_draft(fixture.workbench->paths()), std::string("a draft of mine"));
    QVERIFY(fixture.chat().insert("user", "inserted") != 0);
    // At once: a kill may follow.
    QCOMPARE(*fixture.workbench->history().draft(fixture.chat().id()), std::string("a draft of mine"));
    QCOMPARE(app::load_draft(fixture.workbench->paths()), std::string());
    fixture.type("a draft of mine, ended");
    fixture.trigger("chats.new");
    QCOMPARE(field_of(fixture)->toPlainText(), QString());
  }

  void a_huge_paste_is_cut_and_says_so() {
    QTemporaryDir profile;
    {
      WindowFixture first({}, profile.path());
      first.workbench->settings().set("server/port", 4321);
      paste(field_of(first), QString("words and more\n").repeated((17 << 20) / 15));
      QCOMPARE(field_of(first)->toPlainText().size(), ui::DraftField::kMostCharacters);
      auto* notice = first.find<ui::InlineMessage>("composer.notice");
      QVERIFY(notice->isVisible());
      QVERIFY2(notice->what().contains("1,000,000"), qPrintable(notice->what()));
      QVERIFY2(notice->numbers().contains("16,825,"), qPrintable(notice->numbers()));
    }
    QVERIFY(read(profile.filePath("config/settings.json")).size() < 100'000);
    WindowFixture second({}, profile.path());
    QCOMPARE(second.workbench->settings().get("server/port").get<int>(), 4321);
    QCOMPARE(second.workbench->settings().problem(), std::string());
    QCOMPARE(field_of(second)->toPlainText().size(), ui::DraftField::kMostCharacters);
  }

  void a_full_field_takes_no_more() {
    WindowFixture fixture;
    ui::DraftField* field = field_of(fixture);
    paste(field, QString(ui::DraftField::kMostCharacters - 1, 'x'));
    paste(field, "\U0001F600");  // two units, one of which would fit
    QCOMPARE(field->toPlainText().size(), ui::DraftField::kMostCharacters - 1);
    QTest::keyClick(field, 'a');
    QTest::keyClick(field, 'b');
    QCOMPARE(field->toPlainText().right(2), QString("xa"));
    QVERIFY(fixture.find<ui::InlineMessage>("composer.notice")->isVisible());
    field->selectAll();
    paste(field, "new");
    QCOMPARE(field->toPlainText(), QString("new"));
  }

  void drafts_of_older_versions_are_taken_over() {
    QTemporaryDir profile;
    QVERIFY(QDir(profile.path()).mkpath("config"));
    QFile file(profile.filePath("config/settings.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"({"version": 1, "settings": {"chat/draft": "an old draft", "server/port": 0}})");
    file.close();
    WindowFixture fixture({}, profile.path());
    QCOMPARE(field_of(fixture)->toPlainText(), QString("an old draft"));
    QCOMPARE(app::load_draft(fixture.workbench->paths()), std::string("an old draft"));
    QVERIFY(fixture.workbench->settings().flush().has_value());
    QVERIFY(!read(file.fileName()).contains("an old draft"));
  }

  void a_damaged_draft_does_not_keep_the_window_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::newRow("noise") << QByteArray("\0\xff\x01[[\xfe draft", 12);
    QTest::newRow("a long word") << QByteArray(17 << 20, 'x');
    QTest::newRow("empty") << QByteArray();
  }
  void a_damaged_draft_does_not_keep_the_window() {
    QFETCH(QByteArray, bytes);
    QTemporaryDir profile;
    QVERIFY(QDir(profile.path()).mkpath("data"));
    QFile file(profile.filePath("data/draft.txt"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    QCOMPARE(file.write(bytes), bytes.size());
    file.close();
    WindowFixture fixture({}, profile.path());
    QVERIFY(fixture.window->isVisible());
    QVERIFY(field_of(fixture)->toPlainText().size() <= ui::DraftField::kMostCharacters);
    fixture.type("new");
    fixture.window->close();
    QCOMPARE(app::load_draft(fixture.workbench->paths()), std::string("new"));
  }
};

LATHE_WINDOW_TEST(ComposerDraftTest)

}  // namespace draft_test
#include "draft_test.moc"
