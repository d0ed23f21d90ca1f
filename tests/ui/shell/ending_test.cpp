// SPDX-License-Identifier: GPL-3.0-or-later
// Nothing that runs is ended without a question: reload, unload and quit with requests under way, quit with the server on.
#include <QAbstractButton>
#include <QMessageBox>
#include <QTimer>

#include "tests/support/http_client.h"
#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"

namespace ending_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

/// Clicks a button of the question that blocks close(), as soon as it is open. Empty name: Cancel.
class QuitAnswerer : public QObject {
 public:
  explicit QuitAnswerer(const QString& button) {
    connect(&timer_, &QTimer::timeout, this, [this, button] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (box == nullptr) return;
      timer_.stop();
      text = box->text();
      for (const QAbstractButton* one : box->buttons()) buttons.append(one->objectName());
      auto* wanted =
          button.isEmpty() ? box->button(QMessageBox::Cancel) : box->findChild<QAbstractButton*>("close_dialog." + button);
      if (wanted == nullptr) return box->reject();
      QTest::mouseClick(wanted, Qt::LeftButton);
    });
    timer_.start(5);
  }
  QString text;  ///< of the question; empty: it was not asked
  QStringList buttons;

 private:
  QTimer timer_;
};

}  // namespace

class EndingTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() { QApplication::setQuitOnLastWindowClosed(false); }  // or the next question would not wait
  void a_reload_asks_what_to_do_with_requests();
  void requests_finish_before_a_reload();
  void a_cut_reload_ends_requests();
  void an_unload_asks_too();
  void without_requests_nobody_is_asked();
  void quitting_can_wait_for_requests();
  void who_cancels_the_waiting_stays();
  void quitting_names_the_server();

 private:
  /// A window that asks, with a reply of which five letters are written.
  static void begin_reply(WindowFixture& fixture) {
    // A model that is there: one that cannot be read is not offered for a reload.
    fixture.begin_load(fixture.workbench->library().demo_model());
    QVERIFY(fixture.wait_ready() && fixture.engine() != nullptr);
    fixture.window->set_ask_before_closing(true);
    fixture.engine()->answer_with("Paged attention keeps blocks.");
    fixture.engine()->pause();
    fixture.say("Tell me");
    QVERIFY(fixture.engine()->wait_for_active(1));
    fixture.engine()->step(5);
    QTRY_COMPARE(fixture.text_of(1), QString("Paged"));
    QTRY_COMPARE(fixture.window->bridge().n_requests(), 1);
  }
  static QMessageBox* question(const WindowFixture& fixture) {
    return fixture.window->findChild<QMessageBox*>("request_question");
  }
};

void EndingTest::a_reload_asks_what_to_do_with_requests() {
  WindowFixture fixture;
  begin_reply(fixture);
  const FakeEngine* const before = fixture.engine();
  fixture.trigger("model.load");
  QVERIFY(question(fixture) != nullptr);
  QCOMPARE(question(fixture)->text(), QString("1 request is still running."));
  QTest::mouseClick(question(fixture)->button(QMessageBox::Cancel), Qt::LeftButton);
  QCOMPARE(fixture.engine(), before);
  fixture.engine()->resume();
  QVERIFY(fixture.wait_reply());
  QCOMPARE(fixture.text_of(1), QString("Paged attention keeps blocks."));
  fixture.window->set_ask_before_closing(false);
}

void EndingTest::requests_finish_before_a_reload() {
  WindowFixture fixture;
  begin_reply(fixture);
  FakeEngine* const before = fixture.engine();
  fixture.trigger("model.load");
  fixture.click("request_question.finish");
  QTRY_COMPARE(fixture.find<ui::StatusBar>("status_bar")->state_word(), QString("Finishing 1"));
  QTRY_COMPARE(fixture.find<QLabel>("model.progress.words")->text(), QString("Waiting for 1 request"));
  QCOMPARE(fixture.engine(), before);
  before->resume();
  QVERIFY(fixture.wait_reply());
  QCOMPARE(fixture.text_of(1), QString("Paged attention keeps blocks."));
  QTRY_VERIFY(fixture.workbench->models().status().n_engines == 2);
  QVERIFY(fixture.wait_ready());
  fixture.window->set_ask_before_closing(false);
}

void EndingTest::a_cut_reload_ends_requests() {
  WindowFixture fixture;
  begin_reply(fixture);
  fixture.trigger("model.load");
  fixture.click("request_question.cut");
  QVERIFY(fixture.wait_reply());
  QCOMPARE(fixture.text_of(1), QString("Paged"));
  QTRY_VERIFY(fixture.workbench->models().status().n_engines == 2);
  fixture.window->set_ask_before_closing(false);
}

void EndingTest::an_unload_asks_too() {
  WindowFixture fixture;
  begin_reply(fixture);
  fixture.trigger("model.unload");
  QVERIFY(question(fixture) != nullptr);
  fixture.click("request_question.finish");
  fixture.engine()->resume();
  QVERIFY(fixture.wait_reply());
  QCOMPARE(fixture.text_of(1), QString("Paged attention keeps blocks."));
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::none);
  fixture.window->set_ask_before_closing(false);
}

void EndingTest::without_requests_nobody_is_asked() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  fixture.window->set_ask_before_closing(true);
  fixture.trigger("model.unload");
  QVERIFY(question(fixture) == nullptr);
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::none);
  fixture.window->set_ask_before_closing(false);
}

void EndingTest::quitting_can_wait_for_requests() {
  WindowFixture fixture;
  begin_reply(fixture);
  FakeEngine* const engine = fixture.engine();
  const QuitAnswerer answerer("finish");
  QVERIFY(!fixture.window->close());
  QCOMPARE(answerer.text, QString("1 request is still running."));
  QVERIFY(fixture.window->isVisible());
  engine->resume();
  QTRY_VERIFY(!fixture.window->isVisible());
  QCOMPARE(fixture.text_of(1), QString("Paged attention keeps blocks."));
}

void EndingTest::who_cancels_the_waiting_stays() {
  WindowFixture fixture;
  begin_reply(fixture);
  const QuitAnswerer answerer("finish");
  QVERIFY(!fixture.window->close());
  fixture.trigger("model.cancel");
  QVERIFY(fixture.wait_ready());
  fixture.engine()->resume();
  QVERIFY(fixture.wait_reply());
  QTRY_COMPARE(fixture.window->bridge().n_requests(), 0);
  fixture.trigger("model.unload");
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::none);
  QCoreApplication::processEvents();
  QVERIFY(fixture.window->isVisible());
  fixture.window->set_ask_before_closing(false);
}

void EndingTest::quitting_names_the_server() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  fixture.trigger("server.toggle");
  QTRY_COMPARE(fixture.workbench->server().status().state, app::ServerState::running);
  fixture.window->set_ask_before_closing(true);
  const std::uint16_t port = fixture.workbench->server().status().port;
  const QuitAnswerer no("");
  QVERIFY(!fixture.window->close());
  QCOMPARE(no.text, QString("The server is on at 127.0.0.1:%1.").arg(port));
  QVERIFY(!no.buttons.contains("close_dialog.tray"));  // there is no tray without a display
  QCOMPARE(HttpClient(port).get("/health").status, 200);
  const QuitAnswerer yes("stop");
  QVERIFY(fixture.window->close());
}

LATHE_WINDOW_TEST(EndingTest)

}  // namespace ending_test
#include "ending_test.moc"
