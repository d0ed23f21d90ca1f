// SPDX-License-Identifier: Apache-2.0
// The built program as others start it: signals, ports, pipes, exit codes.
#include <QProcess>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>

#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

namespace {

constexpr int kPatienceMs = 60'000;

/// `lathe` with a profile of its own.
class Program {
 public:
  explicit Program(const QStringList& arguments) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"}) {
      environment.insert(name, profile_.path());
    }
    environment.remove("LATHE_API_KEY");
    environment.remove("VLLM_API_KEY");
    process_.setProcessEnvironment(environment);
    process_.start(QStringLiteral(LATHE_BINARY_DIR "/bin/lathe"), arguments);
  }
  ~Program() {
    if (process_.state() != QProcess::NotRunning) {
      process_.kill();
      process_.waitForFinished();
    }
  }

  /// The next line on stdout.
  QString line() {
    while (!process_.canReadLine()) {
      if (!process_.waitForReadyRead(kPatienceMs)) return {};
    }
    return QString::fromUtf8(process_.readLine()).trimmed();
  }
  /// The first bytes on stderr.
  QByteArray first_error() {
    process_.setReadChannel(QProcess::StandardError);
    process_.waitForReadyRead(kPatienceMs);
    process_.setReadChannel(QProcess::StandardOutput);
    return process_.readAllStandardError();
  }
  void signal(int number) { ::kill(static_cast<pid_t>(process_.processId()), number); }
  /// The exit code; -1 when it hangs, -2 when a signal ended it.
  int wait() {
    if (process_.state() != QProcess::NotRunning && !process_.waitForFinished(kPatienceMs)) return -1;
    return process_.exitStatus() == QProcess::NormalExit ? process_.exitCode() : -2;
  }
  QByteArray out() { return process_.readAllStandardOutput(); }
  QByteArray err() { return process_.readAllStandardError(); }
  QProcess& process() { return process_; }

 private:
  QTemporaryDir profile_;
  QProcess process_;
};

QString tiny() { return QString::fromStdString(lathe::tests::tiny_model_path()); }

QStringList serve(const QStringList& more = {}) {
  return QStringList{"serve", "--model", tiny(), "--port", "0"} + more;
}

/// The port in "listening on http://127.0.0.1:PORT".
quint16 port_of(const QString& line) { return line.mid(line.lastIndexOf(':') + 1).toUShort(); }

/// Sends an HTTP request and returns all that comes until the server closes.
QByteArray ask(quint16 port, const QByteArray& request) {
  QTcpSocket socket;
  socket.connectToHost("127.0.0.1", port);
  if (!socket.waitForConnected(kPatienceMs)) return {};
  socket.write(request);
  QByteArray all;
  while (socket.waitForReadyRead(kPatienceMs)) {
    all += socket.readAll();
    if (socket.state() != QAbstractSocket::ConnectedState) break;
  }
  return all + socket.readAll();
}

QByteArray get(quint16 port, const QByteArray& path, const QByteArray& headers = {}) {
  return ask(port, "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + QByteArray::number(port) + "\r\n" + headers +
                       "Connection: close\r\n\r\n");
}

}  // namespace

class ProgramTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase();
  void serve_says_where_it_listens_and_answers();
  void serve_ends_with_0_on_sigterm();
  void serve_ends_with_0_on_sigint();
  void serve_ends_a_running_stream_on_sigterm();
  void serve_takes_its_key_from_the_environment();
  void serve_needs_a_key_outside_this_machine();
  void S16_a_port_in_use_is_exit_code_1();
  void S16_an_address_of_another_machine_is_an_error();
  void serve_refuses_a_bad_model_with_3();
  void complete_stops_on_sigint_with_1();
  void complete_reads_its_prompt_from_a_pipe();
  void complete_says_when_stdout_is_full();
  void progress_is_not_drawn_where_there_is_no_terminal();
};

void ProgramTest::initTestCase() {
  if (!QFile::exists(QStringLiteral(LATHE_BINARY_DIR "/bin/lathe"))) QSKIP("skipped: the program is not built");
}

void ProgramTest::serve_says_where_it_listens_and_answers() {
  Program program(serve());
  const QString line = program.line();
  QVERIFY2(line.startsWith("listening on http://127.0.0.1:"), qPrintable(line + program.err()));
  const QByteArray health = get(port_of(line), "/health");
  QVERIFY2(health.startsWith("HTTP/1.1 200"), health.constData());
  QVERIFY(get(port_of(line), "/v1/models").contains("tiny-llama"));
}

void ProgramTest::serve_ends_with_0_on_sigterm() {
  Program program(serve());
  QVERIFY(!program.line().isEmpty());
  program.signal(SIGTERM);
  QCOMPARE(program.wait(), 0);
}

void ProgramTest::serve_ends_with_0_on_sigint() {
  Program program(serve());
  QVERIFY(!program.line().isEmpty());
  program.signal(SIGINT);
  QCOMPARE(program.wait(), 0);
}

void ProgramTest::serve_ends_a_running_stream_on_sigterm() {
  Program program(serve());
  const quint16 port = port_of(program.line());
  QTcpSocket socket;
  socket.connectToHost("127.0.0.1", port);
  QVERIFY(socket.waitForConnected(kPatienceMs));
  const QByteArray body = R"({"model":"tiny-llama","prompt":"Hello","max_tokens":200,"ignore_eos":true,"stream":true})";
  socket.write("POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:" + QByteArray::number(port) +
               "\r\nContent-Type: application/json\r\nContent-Length: " + QByteArray::number(body.size()) + "\r\n\r\n" + body);
  QVERIFY(socket.waitForReadyRead(kPatienceMs));
  program.signal(SIGTERM);
  QCOMPARE(program.wait(), 0);
  // The stream was finished or closed: the client does not wait for ever.
  while (socket.state() == QAbstractSocket::ConnectedState && socket.waitForReadyRead(kPatienceMs)) socket.readAll();
  QVERIFY(socket.state() != QAbstractSocket::ConnectedState);
}

void ProgramTest::serve_takes_its_key_from_the_environment() {
  qputenv("LATHE_TEST_UNUSED", "1");
  Program program(serve({"--api-key", "secret-key"}));
  const quint16 port = port_of(program.line());
  QVERIFY(get(port, "/v1/models").startsWith("HTTP/1.1 401"));
  QVERIFY(get(port, "/v1/models", "Authorization: Bearer secret-key\r\n").startsWith("HTTP/1.1 200"));
}

void ProgramTest::serve_needs_a_key_outside_this_machine() {
  Program program(serve({"--host", "0.0.0.0"}));
  QCOMPARE(program.wait(), 2);
  QVERIFY(program.err().contains("key"));
  QVERIFY(program.out().isEmpty());
}

void ProgramTest::S16_a_port_in_use_is_exit_code_1() {
  QTcpServer other;
  QVERIFY(other.listen(QHostAddress::LocalHost));
  Program program({"serve", "--model", tiny(), "--port", QString::number(other.serverPort())});
  QCOMPARE(program.wait(), 1);
  const QByteArray error = program.err();
  QVERIFY2(error.contains(QByteArray::number(other.serverPort())), error.constData());
  QVERIFY(program.out().isEmpty());
}

void ProgramTest::S16_an_address_of_another_machine_is_an_error() {
  Program program(serve({"--host", "192.0.2.1", "--api-key", "k"}));
  const int code = program.wait();
  QVERIFY2(code == 1 || code == 2, qPrintable(QString::number(code)));
  QVERIFY(program.err().contains("192.0.2.1"));
}

void ProgramTest::serve_refuses_a_bad_model_with_3() {
  const QTemporaryDir folder;
  Program program({"serve", "--model", folder.path(), "--port", "0"});
  QCOMPARE(program.wait(), 3);
  QVERIFY(program.err().contains("config.json"));
  QVERIFY(program.out().isEmpty());
}

void ProgramTest::complete_stops_on_sigint_with_1() {
  // A prompt that never comes: the signal must end it while it waits... for tokens, of which there are many.
  Program program({"complete", "--model", tiny(), "--prompt", "Hello", "--max-tokens", "0", "--ignore-eos"});
  program.first_error();  // "Loaded ..."
  program.signal(SIGINT);
  const int code = program.wait();
  // The tiny model may have been faster than the signal; it may also have come before anything was blocked.
  QVERIFY2(code == 1 || code == 0, qPrintable(QString::number(code)));
}

void ProgramTest::complete_reads_its_prompt_from_a_pipe() {
  Program program({"complete", "-q", "--model", tiny(), "--prompt-file", "-", "--temperature", "0", "--max-tokens", "4"});
  program.process().write("Hello there");
  program.process().closeWriteChannel();
  QCOMPARE(program.wait(), 0);
  QVERIFY(program.out().endsWith('\n'));
}

void ProgramTest::complete_says_when_stdout_is_full() {
  if (!QFile::exists("/dev/full")) QSKIP("skipped: no /dev/full");
  QProcess process;
  process.setStandardOutputFile("/dev/full");
  process.start(QStringLiteral(LATHE_BINARY_DIR "/bin/lathe"),
                {"complete", "-q", "--model", tiny(), "--prompt", "Hello", "--max-tokens", "2", "--json"});
  QVERIFY(process.waitForFinished(kPatienceMs));
  QCOMPARE(process.exitCode(), 1);
  QVERIFY(process.readAllStandardError().contains("standard output"));
}

void ProgramTest::progress_is_not_drawn_where_there_is_no_terminal() {
  Program program({"complete", "--model", tiny(), "--prompt", "Hello", "--max-tokens", "2", "--json"});
  QCOMPARE(program.wait(), 0);
  const QByteArray error = program.err();
  QVERIFY(!error.contains('\r') && !error.contains('\x1b'));
  QCOMPARE(error.count('\n'), 1);
}

QTEST_GUILESS_MAIN(ProgramTest)
#include "program_test.moc"
