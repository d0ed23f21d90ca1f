// SPDX-License-Identifier: GPL-3.0-or-later
// How the window ends: closed, asked first, logged out, told by a signal, killed; and what the next one finds.
// For what a process alone can show, this program starts itself as "--child MODE PROFILE".
#include <sqlite3.h>
#include <QAbstractButton>
#include <QDoubleSpinBox>
#include <QMessageBox>
#include <QProcess>
#include <QSessionManager>
#include <QTimer>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "tests/support/test_class.h"
#include "tests/ui/bench_fixture.h"
#include "ui/shell/quit_signals.h"

namespace lifecycle_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr int kTellEveryMs = 250;
constexpr int kLinesASecond = 1000 / kTellEveryMs;

// ---- the child

void tell(const QByteArray& line) {
  std::fwrite(line.constData(), 1, std::size_t(line.size()), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

FakeLoad endless_load() {
  FakeLoad load;
  load.n_steps = 1'000'000'000;
  load.before_step = [](int step) {
    if (step == 10) tell("loading");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a slow disk
  };
  return load;
}

FakeLoad talkative() {
  FakeLoad load;
  load.model.max_model_len = 1 << 20;
  load.loaded = [](FakeEngine& engine) {
    engine.answer_with([](const engine::GenerateRequest&) { return std::string(1 << 19, 'w'); });
    engine.set_token_delay(std::chrono::milliseconds(2));
  };
  return load;
}

/// Writes an endless answer and tells the length of what is shown, a line each time.
void write_for_ever(WindowFixture& fixture, QTimer& timer, bool ask) {
  if (!fixture.load_model()) qFatal("the fake did not load");
  fixture.window->resize(1300, 777);
  fixture.window->docks().set_area_visible(ui::PanelArea::right, false);
  fixture.find<QDoubleSpinBox>("sampling.max_tokens.spin")->setValue(0);
  fixture.say("Tell me");
  fixture.window->show_page("serve");
  QObject::connect(&timer, &QTimer::timeout, &timer, [&fixture, ask] {
    const auto length = fixture.text_of(1).size();
    if (QApplication::activeModalWidget() != nullptr) tell("asked");
    else tell(QByteArray::number(length));
    if (!ask || length == 0 || QApplication::activeModalWidget() != nullptr) return;
    fixture.window->set_ask_before_closing(true);
    QTimer::singleShot(0, fixture.window.get(), &QWidget::close);
  });
  timer.start(kTellEveryMs);
}

int run_child(int argc, char** argv) {
  ui::QuitSignals quit_signals;
  const QApplication application(argc, argv);
  const QByteArray mode = argv[2];
  WindowFixture fixture(mode == "loading" ? endless_load() : talkative(), QString::fromLocal8Bit(argv[3]));
  QObject::connect(&quit_signals, &ui::QuitSignals::asked, fixture.window.get(), &ui::MainWindow::close_without_asking);
  quit_signals.watch();
  QTimer timer;
  if (mode == "loading") fixture.begin_load();
  else write_for_ever(fixture, timer, mode == "dialog");
  return QApplication::exec();
}

// ---- the parent

class Child {
 public:
  Child(const char* mode, const QTemporaryDir& profile) {
    process_.start(QCoreApplication::applicationFilePath(), {"lifecycle_test", "--child", mode, profile.path()});
  }
  ~Child() {
    if (process_.state() == QProcess::NotRunning) return;
    process_.kill();
    process_.waitForFinished();
  }
  /// The next line it says; empty when it ended.
  QByteArray line() {
    while (!process_.canReadLine()) {
      if (!process_.waitForReadyRead(kPatienceMs)) return {};
    }
    return process_.readLine().trimmed();
  }
  bool wait_for(const QByteArray& words) {
    for (QByteArray said = line(); !said.isEmpty(); said = line())
      if (said == words) return true;
    return false;
  }
  /// Lengths of the answer as it told them: at least so many lines with text.
  std::vector<qsizetype> lengths(std::size_t n) {
    std::vector<qsizetype> all;
    while (all.size() < n) {
      const QByteArray said = line();
      if (said.isEmpty()) break;
      if (said.toLongLong() > 0) all.push_back(said.toLongLong());
    }
    return all;
  }
  void signal(int number) { ::kill(static_cast<pid_t>(process_.processId()), number); }
  /// The exit code; -1 when it hangs, -2 when a signal ended it.
  int wait() {
    if (process_.state() != QProcess::NotRunning && !process_.waitForFinished(kPatienceMs)) return -1;
    return process_.exitStatus() == QProcess::NormalExit ? process_.exitCode() : -2;
  }
  QByteArray rest() { return process_.readAllStandardError(); }

 private:
  QProcess process_;
};

/// The verdict of SQLite's integrity check on the file that was left; "ok" for a good one.
std::string integrity(const QTemporaryDir& profile) {
  sqlite3* connection = nullptr;
  std::string words;
  if (sqlite3_open(qPrintable(profile.filePath("data/history.db")), &connection) != SQLITE_OK) return "cannot be opened";
  const auto take = [](void* into, int, char** values, char**) {
    *static_cast<std::string*>(into) += values[0];
    return 0;
  };
  sqlite3_exec(connection, "PRAGMA integrity_check", take, &words, nullptr);
  sqlite3_close(connection);
  return words;
}

/// The files as they are now, as a kill would leave them.
class KilledProfile {
 public:
  explicit KilledProfile(const QTemporaryDir& profile) {
    std::filesystem::copy(profile.path().toStdString(), path().toStdString(), std::filesystem::copy_options::recursive);
  }
  QString path() const { return folder_.path(); }

 private:
  QTemporaryDir folder_;
};

/// The reply in the only chat of a profile.
app::StoredMessage kept_reply(const QTemporaryDir& profile) {
  const auto history = app::open_history(profile.filePath("data/history.db").toStdString());
  if (!history || (*history)->chats().empty()) return {};
  const auto messages = (*history)->messages((*history)->chats().front().id);
  return messages && messages->size() == 2 ? messages->back() : app::StoredMessage();
}

}  // namespace

class LifecycleTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void U1_closing_while_generating_keeps_the_text();
  void U1_nobody_is_asked_when_nothing_runs();
  void U1_cancel_keeps_window_and_reply();
  void U1_stop_and_quit_closes();
  void U1_the_question_can_be_switched_off();
  void U1_a_sweep_is_asked_about();
  void U1_logout_keeps_the_text();
  void U1_a_signal_while_generating_keeps_the_answer_data();
  void U1_a_signal_while_generating_keeps_the_answer();
  void U1_a_signal_while_loading_ends_the_load();
  void U1_a_signal_closes_the_question_too();
  void U2_a_kill_loses_a_second_at_most_data();
  void U2_a_kill_loses_a_second_at_most();

 private:
  /// Starts a reply of which five letters are written.
  static void begin_reply(WindowFixture& fixture) {
    QVERIFY(fixture.load_model());
    fixture.engine()->answer_with("Paged attention keeps blocks.");
    fixture.engine()->pause();
    fixture.say("Tell me");
    QVERIFY(fixture.engine()->wait_for_active(1));
    fixture.engine()->step(5);
    QTRY_COMPARE(fixture.text_of(1), QString("Paged"));
  }
  static app::StoredMessage stored(const WindowFixture& fixture, std::int64_t chat) {
    return fixture.workbench->history().messages(chat)->back();
  }
};

namespace {

/// Presses a button of the question as soon as it is there; close() blocks until then.
class Answerer : public QObject {
 public:
  explicit Answerer(QMessageBox::ButtonRole role) {
    connect(&timer_, &QTimer::timeout, this, [this, role] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (box == nullptr || box->objectName() != "close_dialog") return;
      timer_.stop();
      words = box->text();
      for (QAbstractButton* button : box->buttons())
        if (box->buttonRole(button) == role) QTest::mouseClick(button, Qt::LeftButton);
    });
    timer_.start(5);
  }
  QString words;  ///< of the question; empty: it was not asked

 private:
  QTimer timer_;
};

}  // namespace

void LifecycleTest::U1_closing_while_generating_keeps_the_text() {
  QTemporaryDir profile;
  std::int64_t chat = 0;
  {
    WindowFixture fixture({}, profile.path());
    begin_reply(fixture);
    chat = fixture.chat().id();
  }
  WindowFixture again({}, profile.path());
  QCOMPARE(stored(again, chat).text, std::string("Paged"));
  QVERIFY(stored(again, chat).partial);
}

void LifecycleTest::U1_nobody_is_asked_when_nothing_runs() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  fixture.window->set_ask_before_closing(true);
  const Answerer answerer(QMessageBox::RejectRole);
  QVERIFY(fixture.window->close());
  QCOMPARE(answerer.words, QString());
}

void LifecycleTest::U1_cancel_keeps_window_and_reply() {
  WindowFixture fixture;
  begin_reply(fixture);
  fixture.window->set_ask_before_closing(true);
  const Answerer answerer(QMessageBox::RejectRole);
  QVERIFY(!fixture.window->close());
  QCOMPARE(answerer.words, QString("1 request is still running."));
  QVERIFY(fixture.window->isVisible());
  QVERIFY(fixture.writer().running());
  fixture.engine()->resume();
  QVERIFY(fixture.wait_reply());
  QCOMPARE(fixture.text_of(1), QString("Paged attention keeps blocks."));
  QTRY_VERIFY(!stored(fixture, fixture.chat().id()).partial);
  fixture.window->set_ask_before_closing(false);
}

void LifecycleTest::U1_stop_and_quit_closes() {
  WindowFixture fixture;
  begin_reply(fixture);
  fixture.window->set_ask_before_closing(true);
  const Answerer answerer(QMessageBox::AcceptRole);
  fixture.trigger("app.quit");
  QVERIFY(!answerer.words.isEmpty());
  QVERIFY(!fixture.window->isVisible());
  QCOMPARE(stored(fixture, fixture.chat().id()).text, std::string("Paged"));
  QVERIFY(stored(fixture, fixture.chat().id()).partial);
}

void LifecycleTest::U1_the_question_can_be_switched_off() {
  WindowFixture fixture;
  begin_reply(fixture);
  fixture.window->set_ask_before_closing(true);
  fixture.workbench->settings().set("general/confirm_close", false);
  const Answerer answerer(QMessageBox::RejectRole);
  QVERIFY(fixture.window->close());
  QCOMPARE(answerer.words, QString());
}

void LifecycleTest::U1_a_sweep_is_asked_about() {
  FakeLoad load;
  load.loaded = [](FakeEngine& engine) { engine.set_token_delay(std::chrono::milliseconds(20)); };
  BenchFixture fixture(std::move(load));
  fixture.values_of("concurrency")->setText("1, 2, 3, 4");
  fixture.click("bench.start");
  fixture.window->set_ask_before_closing(true);
  const Answerer no(QMessageBox::RejectRole);
  fixture.trigger("app.quit");
  QCOMPARE(no.words, QString("A sweep at 0 of 4 cells is still running."));
  QVERIFY(fixture.window->isVisible());
  QCOMPARE(fixture.state(), app::SweepState::running);
  const Answerer yes(QMessageBox::AcceptRole);
  QVERIFY(fixture.window->close());
  QVERIFY(!yes.words.isEmpty());
  QVERIFY(fixture.wait_for(app::SweepState::stopped));
}

void LifecycleTest::U1_logout_keeps_the_text() {
  QTemporaryDir profile;
  WindowFixture fixture({}, profile.path());
  begin_reply(fixture);
  fixture.type("half a thought");
  // Only the application makes session managers; nobody looks into this one.
  alignas(QSessionManager) std::byte storage[sizeof(QSessionManager)] = {};
  Q_EMIT qApp->commitDataRequest(*reinterpret_cast<QSessionManager*>(storage));
  // A kill may follow at once: everything is on the disk now.
  QCOMPARE(kept_reply(profile).text, std::string("Paged"));
  QVERIFY(kept_reply(profile).partial);
  QVERIFY(fixture.window->isVisible());  // another program may still stop the logout
  {
    const KilledProfile killed(profile);
    WindowFixture next({}, killed.path());
    QCOMPARE(next.text_of(1), QString("Paged"));
    QCOMPARE(next.find<QPlainTextEdit>("composer.field")->toPlainText(), QString("half a thought"));
  }
  // A new chat has its text elsewhere.
  const std::int64_t chat = fixture.chat().id();
  fixture.trigger("chats.new");
  fixture.type("another thought");
  Q_EMIT qApp->commitDataRequest(*reinterpret_cast<QSessionManager*>(storage));
  const KilledProfile killed(profile);
  WindowFixture next({}, killed.path());
  next.trigger("chats.new");
  QCOMPARE(next.find<QPlainTextEdit>("composer.field")->toPlainText(), QString("another thought"));
  QVERIFY(next.chat().open(chat));
  QCOMPARE(next.find<QPlainTextEdit>("composer.field")->toPlainText(), QString("half a thought"));
}

void LifecycleTest::U1_a_signal_while_generating_keeps_the_answer_data() {
  QTest::addColumn<int>("number");
  QTest::newRow("SIGTERM") << SIGTERM;
  QTest::newRow("SIGINT") << SIGINT;
  QTest::newRow("SIGHUP") << SIGHUP;
}

void LifecycleTest::U1_a_signal_while_generating_keeps_the_answer() {
  QFETCH(int, number);
  QTemporaryDir profile;
  Child child("generating", profile);
  const auto told = child.lengths(3);
  QCOMPARE(told.size(), std::size_t{3});
  child.signal(number);
  QCOMPARE(child.wait(), 0);
  const app::StoredMessage kept = kept_reply(profile);
  QVERIFY(kept.partial);
  QVERIFY2(qsizetype(kept.text.size()) >= told.back(), qPrintable(QString::number(kept.text.size())));
  QVERIFY(ui::footer_of(kept.footer_json).stop == "stopped");
  QCOMPARE(integrity(profile), std::string("ok"));
}

void LifecycleTest::U1_a_signal_while_loading_ends_the_load() {
  QTemporaryDir profile;
  Child child("loading", profile);
  QVERIFY(child.wait_for("loading"));
  child.signal(SIGTERM);
  QCOMPARE(child.wait(), 0);
}

void LifecycleTest::U1_a_signal_closes_the_question_too() {
  QTemporaryDir profile;
  Child child("dialog", profile);
  QVERIFY(child.wait_for("asked"));
  child.signal(SIGTERM);
  QCOMPARE(child.wait(), 0);
  QVERIFY(kept_reply(profile).partial);
  QVERIFY(!kept_reply(profile).text.empty());
}

void LifecycleTest::U2_a_kill_loses_a_second_at_most_data() {
  QTest::addColumn<int>("n_lines");
  for (const int n : {0, 6, 9, 13}) QTest::newRow(qPrintable(QString("after %1 lines").arg(n))) << n;
}

void LifecycleTest::U2_a_kill_loses_a_second_at_most() {
  QFETCH(int, n_lines);
  QTemporaryDir profile;
  std::vector<qsizetype> told;
  {
    Child child("generating", profile);
    if (n_lines == 0) QVERIFY(!child.line().isEmpty());
    told = child.lengths(std::size_t(n_lines));
    child.signal(SIGKILL);
    QCOMPARE(child.wait(), -2);
  }
  QCOMPARE(integrity(profile), std::string("ok"));
  WindowFixture next({}, profile.path());
  QVERIFY(next.window->isVisible());
  QVERIFY(next.workbench->history().problem().empty() && next.workbench->settings().problem().empty());
  QVERIFY(next.load_model());
  if (told.size() <= std::size_t(kLinesASecond)) return;
  // All of this was so for more than a second.
  QCOMPARE(next.window->page(), QString("serve"));
  QCOMPARE(next.window->size(), QSize(1300, 777));
  next.window->show_page("chat");
  QVERIFY(!next.window->docks().area_visible(ui::PanelArea::right));
  QVERIFY(next.window->docks().area_visible(ui::PanelArea::left));
  QCOMPARE(next.chat().messages().size(), std::size_t{2});
  const app::StoredMessage& kept = next.chat().messages()[1];
  QVERIFY(kept.partial);
  const qsizetype a_second_ago = told[told.size() - 1 - kLinesASecond];
  QVERIFY2(qsizetype(kept.text.size()) >= a_second_ago,
           qPrintable(QString("%1 of %2").arg(kept.text.size()).arg(a_second_ago)));
}

int run_test(int argc, char** argv) {
  if (argc == 4 && qstrcmp(argv[1], "--child") == 0) return run_child(argc, argv);
  QApplication application(argc, argv);
  QApplication::setQuitOnLastWindowClosed(false);  // or the next question would not wait for an answer
  LifecycleTest test;
  return QTest::qExec(&test, argc, argv);
}

}  // namespace lifecycle_test
#include "lifecycle_test.moc"
