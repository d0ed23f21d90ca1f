// SPDX-License-Identifier: GPL-3.0-or-later
// The built program with its window, as a desktop starts and ends it.
#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTcpServer>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>

#include "app/api/history.h"
#include "tests/support/http_client.h"
#include "tests/support/test_class.h"

namespace program_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr int kPatienceMs = 120'000;

/// `lathe` without a screen, with the bundled model and a profile of its own.
class Window {
 public:
  explicit Window(const engine::Json& settings = engine::Json::object()) {
    QDir(profile_.path()).mkpath("config");
    QFile file(profile_.filePath("config/settings.json"));
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write the settings");
    file.write(QByteArray::fromStdString(engine::dump_json(engine::Json{{"version", 1}, {"settings", settings}})));
    file.close();
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("QT_QPA_PLATFORM", "offscreen");
    environment.insert("LATHE_RESOURCES", LATHE_SOURCE_DIR "/resources");
    process_.setProcessEnvironment(environment);
    process_.start(LATHE_BINARY_DIR "/bin/lathe", {"--profile-dir", profile_.path()});
  }
  ~Window() {
    if (process_.state() == QProcess::NotRunning) return;
    process_.kill();
    process_.waitForFinished();
  }
  /// From here on signals are taken: the workbench is made after that.
  bool wait_for_history() {
    return QTest::qWaitFor([this] { return QFile::exists(profile_.filePath("data/history.db")); }, kPatienceMs);
  }
  void signal(int number) { ::kill(static_cast<pid_t>(process_.processId()), number); }
  /// The exit code; -1 when it hangs, -2 when a signal ended it.
  int wait() {
    if (process_.state() != QProcess::NotRunning && !process_.waitForFinished(kPatienceMs)) return -1;
    return process_.exitStatus() == QProcess::NormalExit ? process_.exitCode() : -2;
  }
  bool running() const { return process_.state() != QProcess::NotRunning; }
  QString file(const char* name) const { return profile_.filePath(name); }
  QByteArray err() { return process_.readAllStandardError(); }

 private:
  QTemporaryDir profile_;
  QProcess process_;
};

std::uint16_t free_port() {
  QTcpServer probe;
  if (!probe.listen(QHostAddress::LocalHost)) qFatal("no port is free");
  return probe.serverPort();
}

}  // namespace

class ProgramTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void U1_a_signal_while_it_starts_ends_it_well_data();
  void U1_a_signal_while_it_starts_ends_it_well();
  void U1_a_signal_while_its_server_answers_ends_it_well();
};

void ProgramTest::U1_a_signal_while_it_starts_ends_it_well_data() {
  QTest::addColumn<int>("number");
  QTest::newRow("SIGTERM") << SIGTERM;
  QTest::newRow("SIGINT") << SIGINT;
  QTest::newRow("SIGHUP") << SIGHUP;
}

void ProgramTest::U1_a_signal_while_it_starts_ends_it_well() {
  QFETCH(int, number);
  Window window;
  QVERIFY(window.wait_for_history());  // the model is loaded after that
  window.signal(number);
  QCOMPARE(window.wait(), 0);
  const auto history = app::open_history(window.file("data/history.db").toStdString());
  QVERIFY(history.has_value());
  QCOMPARE((*history)->problem(), std::string());
  QVERIFY(QFile::exists(window.file("config/window.ini")));
}

void ProgramTest::U1_a_signal_while_its_server_answers_ends_it_well() {
  const std::uint16_t port = free_port();
  Window window({{"server/autostart", true}, {"server/port", port}});
  // The server comes up by itself once the bundled model is loaded.
  QVERIFY2(QTest::qWaitFor([&] { return !window.running() || HttpClient(port).get("/health").status == 200; }, kPatienceMs),
           window.err());
  HttpClient client(port);
  client.send(client.request(
      "POST", "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"Go on"}],"stream":true,"ignore_eos":true,"max_tokens":400})"));
  QCOMPARE(client.read_head().status, 200);
  QVERIFY(client.read_event().has_value());
  window.signal(SIGTERM);
  QCOMPARE(window.wait(), 0);
}

LATHE_WINDOW_TEST(ProgramTest)

}  // namespace program_test
#include "program_test.moc"
