// SPDX-License-Identifier: GPL-3.0-or-later
// The Log dock in the real window: its filters, what it copies, and the diagnostics for a bug report.
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLineEdit>
#include <QListView>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"

namespace log_dock_test {

using namespace lathe;
using namespace lathe::tests;

class LogDockTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    fixture = std::make_unique<WindowFixture>(FakeLoad{});
    QVERIFY(fixture->load_model());
  }
  void cleanup() { fixture.reset(); }

  void the_log_is_filtered_by_level_and_words();
  void the_log_follows_and_copies();
  void diagnostics_say_what_a_bug_report_needs();
  void diagnostics_without_a_model();

 private:
  int n_rows(const char* view) { return fixture->find<QAbstractItemView>(view)->model()->rowCount(); }
  static QString copied() { return QGuiApplication::clipboard()->text(); }

  std::unique_ptr<WindowFixture> fixture;
};

void LogDockTest::the_log_is_filtered_by_level_and_words() {
  fixture->show_panel("log");
  fixture->workbench->log().warning("engine", "an odd thing");
  fixture->workbench->log().info("engine", "an even thing");
  auto* words = fixture->find<QLineEdit>("log.find");
  words->setText("thing");
  QTRY_COMPARE(n_rows("log.list"), 2);
  words->setText("odd");
  QCOMPARE(n_rows("log.list"), 1);
  words->setText("thing");
  fixture->find<QComboBox>("log.level")->setCurrentIndex(2);
  QCOMPARE(n_rows("log.list"), 1);
  fixture->find<QComboBox>("log.level")->setCurrentIndex(3);
  QCOMPARE(n_rows("log.list"), 0);
  fixture->workbench->log().error("engine", "a bad thing");
  QTRY_COMPARE(n_rows("log.list"), 1);
}

void LogDockTest::the_log_follows_and_copies() {
  fixture->show_panel("log");
  for (int i = 0; i < 200; ++i) fixture->workbench->log().info("test", "line " + std::to_string(i));
  QTRY_VERIFY(n_rows("log.list") >= 200);
  auto* list = fixture->find<QListView>("log.list");
  const QModelIndex last = list->model()->index(list->model()->rowCount() - 1, 0);
  QTRY_VERIFY(list->viewport()->rect().intersects(list->visualRect(last)));
  fixture->find<QLineEdit>("log.find")->setText("line 199");
  fixture->click("log.copy");
  QVERIFY2(copied().contains("line 199") && !copied().contains("line 198"), qPrintable(copied()));
  fixture->click("log.clear");
  QCOMPARE(n_rows("log.list"), 0);
}

void LogDockTest::diagnostics_say_what_a_bug_report_needs() {
  fixture->workbench->settings().set("server/api_key", "lathe-secret-key");
  fixture->workbench->settings().set("appearance/theme", "dark");
  fixture->workbench->log().warning("engine", "an odd thing");
  fixture->say("My private question");
  QVERIFY(fixture->wait_reply());
  fixture->trigger("log.copy_diagnostics");
  const QString text = copied();
  for (const char* needed : {"Lathe: ", "Qt: ", "system: ", "memory: ", "model: fake", "options: all default",
                             "KV cache: 1024", "appearance/theme=\"dark\"", "warning engine an odd thing"})
    QVERIFY2(text.contains(needed), qPrintable(QString("%1 is not in\n%2").arg(needed, text)));
  QVERIFY(text.contains(app::version().c_str()));
  QVERIFY(!text.contains("secret") && !text.contains("private question"));
}

void LogDockTest::diagnostics_without_a_model() {
  fixture->trigger("model.unload");
  QTRY_COMPARE(fixture->window->bridge().model_status().state, app::ModelState::none);
  fixture->trigger("log.copy_diagnostics");
  QVERIFY2(copied().contains("model: none loaded"), qPrintable(copied()));
}

LATHE_WINDOW_TEST(LogDockTest)

}  // namespace log_dock_test
#include "log_dock_test.moc"
