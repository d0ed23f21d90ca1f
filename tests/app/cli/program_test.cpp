// SPDX-License-Identifier: Apache-2.0
// The built program as others start it: signals, ports, pipes, exit codes.
#include <arpa/inet.h>
#include <grp.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>

#include "tests/support/http_client.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace program_test {

namespace {

using lathe::tests::HttpClient;

constexpr int kPatienceMs = 60'000;

/// `lathe` with a profile of its own.
class Program {
 public:
  explicit Program(const QStringList& arguments, const QByteArray& key_from_environment = {}, uid_t user = ::geteuid()) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"}) {
      environment.insert(name, profile_.path());
    }
    environment.remove("LATHE_API_KEY");
    environment.remove("VLLM_API_KEY");
    if (!key_from_environment.isEmpty()) environment.insert("VLLM_API_KEY", key_from_environment);
    process_.setProcessEnvironment(environment);
    if (user != ::geteuid()) {
      process_.setChildProcessModifier([user] {
        if (::setgroups(0, nullptr) != 0 || ::setgid(user) != 0 || ::setuid(user) != 0) ::_exit(99);
      });
    }
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
  /// The exit code; -1 when it hangs, -2 when a signal ended it, -3 when it could not be started.
  int wait() {
    const bool ended = process_.state() == QProcess::NotRunning || process_.waitForFinished(kPatienceMs);
    if (process_.error() == QProcess::FailedToStart) return -3;
    if (!ended) return -1;
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

QStringList serve(const QStringList& more = {}) { return QStringList{"serve", "--model", tiny(), "--port", "0"} + more; }

/// The port in "listening on http://127.0.0.1:PORT".
quint16 port_of(const QString& line) { return line.mid(line.lastIndexOf(':') + 1).toUShort(); }

/// A port of 127.0.0.1 that somebody else listens on.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t n_bytes = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), n_bytes) != 0 || ::listen(socket_, 1) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &n_bytes) != 0) {
      qFatal("cannot take a port");
    }
    port_ = ntohs(address.sin_port);
  }
  ~TakenPort() { ::close(socket_); }
  QString text() const { return QString::number(port_); }

 private:
  int socket_;
  quint16 port_ = 0;
};

/// One thread of a child process, stopped as a debugger does it until the process ends.
class HeldThread {
 public:
  HeldThread(qint64 process, const QByteArray& name) {
    const QDir tasks(QStringLiteral("/proc/%1/task").arg(process));
    for (const QString& task : tasks.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
      QFile file(tasks.filePath(task + "/comm"));
      if (!file.open(QIODevice::ReadOnly) || file.readAll().trimmed() != name) continue;
      id_ = task.toInt();
    }
    if (id_ == 0) qFatal("there is no thread %s", name.constData());
    int status = 0;
    held_ = ::ptrace(PTRACE_SEIZE, id_, nullptr, nullptr) == 0 && ::ptrace(PTRACE_INTERRUPT, id_, nullptr, nullptr) == 0 &&
            ::waitpid(id_, &status, __WALL) == id_ && WIFSTOPPED(status);
  }
  ~HeldThread() {
    if (held_) ::ptrace(PTRACE_DETACH, id_, nullptr, nullptr);
  }
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;
  bool held() const { return held_; }
  /// The process stays until its debugger has seen all of its threads go. False: it does not go.
  bool wait_for_its_end() {
    int status = 0;
    held_ = !QTest::qWaitFor([&] { return ::waitpid(id_, &status, __WALL | WNOHANG) == id_; }, kPatienceMs);
    return !held_;
  }

 private:
  pid_t id_ = 0;
  bool held_ = false;
};

}  // namespace

class ProgramTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase();
  void serve_says_where_it_listens_and_answers();
  void serve_ends_with_0_on_sigterm();
  void serve_ends_with_0_on_sigint();
  void serve_ends_a_running_stream_on_sigterm();
  void serve_ends_with_0_whatever_hangs();
  void chat_from_a_pipe_ends_at_a_signal();
  void serve_takes_its_key_from_the_environment();
  void serve_needs_a_key_outside_this_machine();
  void S16_a_port_in_use_is_exit_code_1();
  void S16_a_privileged_port_is_exit_code_1();
  void S16_an_address_of_another_machine_is_wrong_usage();
  void serve_refuses_a_bad_model_with_3();
  void complete_stops_on_sigint_with_1();
  void complete_reads_its_prompt_from_a_pipe();
  void complete_says_when_stdout_is_full();
  void progress_is_not_drawn_where_there_is_no_terminal();
};

void ProgramTest::initTestCase() {
  QVERIFY2(QFile::exists(QStringLiteral(LATHE_BINARY_DIR "/bin/lathe")), "the build of this test builds the program first");
}

void ProgramTest::serve_says_where_it_listens_and_answers() {
  Program program(serve());
  const QString line = program.line();
  const QByteArray err = program.err();
  QVERIFY2(line.startsWith("listening on http://127.0.0.1:"), qPrintable(line + err));
  QVERIFY2(err.contains("/health answers 503") && !err.contains("http://"), err);  // the address stands there once
  HttpClient client(port_of(line));
  QCOMPARE(client.get("/health").status, 200);
  QCOMPARE(client.get("/v1/models").json()["data"][0]["id"].get<std::string>(), std::string("tiny-llama"));
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
  HttpClient client(port_of(program.line()));
  QVERIFY(client.send(
      client.request("POST", "/v1/completions",
                     R"({"model":"tiny-llama","prompt":"Hello","max_tokens":200,"ignore_eos":true,"stream":true})")));
  QCOMPARE(client.read_head().status, 200);
  QVERIFY(client.read_event().has_value());
  program.signal(SIGTERM);
  QCOMPARE(program.wait(), 0);
  // The stream was finished or ended: the client does not wait for ever.
  while (client.read_event()) {
  }
  QVERIFY(client.closed_by_server());
}

void ProgramTest::serve_ends_with_0_whatever_hangs() {
  Program program(serve());
  QVERIFY(!program.line().isEmpty());
  // As in a step that does not end. The rest of the process goes on.
  HeldThread engine(program.process().processId(), "lathe-engine");
  if (!engine.held()) QSKIP("skipped: threads of other processes may not be held here");
  program.signal(SIGTERM);
  QVERIFY(engine.wait_for_its_end());
  QCOMPARE(program.wait(), 0);
}

void ProgramTest::chat_from_a_pipe_ends_at_a_signal() {
  const QString model = QString::fromStdString(lathe::tests::source_path("resources/demo_model"));
  Program program(
      {"chat", "-q", "--model", model, "--isa", "scalar", "--threads", "1", "--max-tokens", "0", "--ignore-eos"});
  program.process().write("Hello\n/bogus\n");
  program.process().closeWriteChannel();
  QVERIFY(program.process().waitForReadyRead(kPatienceMs));  // the first answer has begun
  program.signal(SIGINT);
  QCOMPARE(program.wait(), 1);
  const QByteArray error = program.err();
  QVERIFY2(!error.contains("bogus"), error.constData());
}

void ProgramTest::serve_takes_its_key_from_the_environment() {
  Program program(serve(), "secret-key");
  HttpClient client(port_of(program.line()));
  QCOMPARE(client.get("/v1/models").status, 401);
  HttpClient with_key(port_of(QString::fromStdString(client.host())));
  QCOMPARE(with_key.get("/v1/models", "Authorization: Bearer secret-key\r\n").status, 200);
}

void ProgramTest::serve_needs_a_key_outside_this_machine() {
  Program program(serve({"--host", "0.0.0.0"}));
  QCOMPARE(program.wait(), 2);
  QVERIFY(program.err().contains("key"));
  QVERIFY(program.out().isEmpty());
}

void ProgramTest::S16_a_port_in_use_is_exit_code_1() {
  const TakenPort other;
  Program program({"serve", "--model", tiny(), "--port", other.text()});
  QCOMPARE(program.wait(), 1);
  const QByteArray error = program.err();
  QVERIFY2(error.contains(other.text().toUtf8()), error.constData());
  QVERIFY(program.out().isEmpty());
}

void ProgramTest::S16_a_privileged_port_is_exit_code_1() {
  QFile first("/proc/sys/net/ipv4/ip_unprivileged_port_start");
  if (!first.open(QIODevice::ReadOnly) || first.readAll().trimmed().toInt() <= 81) {
    QSKIP("skipped: every user may listen on port 81 here");
  }
  constexpr uid_t nobody = 65534;
  Program program({"serve", "--model", tiny(), "--port", "81"}, {}, ::geteuid() == 0 ? nobody : ::geteuid());
  const int code = program.wait();
  const QByteArray error = program.err();
  if (code == -3) QSKIP("skipped: nobody may not run the program here");
  QVERIFY2(code == 1, error.constData());
  QVERIFY2(error.contains("81") && error.contains("1024"), error.constData());
  QVERIFY(program.out().isEmpty());
}

void ProgramTest::S16_an_address_of_another_machine_is_wrong_usage() {
  Program program(serve({"--host", "192.0.2.1", "--api-key", "k"}));
  QCOMPARE(program.wait(), 2);
  QVERIFY(program.err().contains("192.0.2.1"));
  QVERIFY(program.out().isEmpty());
}

void ProgramTest::serve_refuses_a_bad_model_with_3() {
  const QTemporaryDir folder;
  Program program({"serve", "--model", folder.path(), "--port", "0"});
  QCOMPARE(program.wait(), 3);
  QVERIFY(program.err().contains("config.json"));
  QVERIFY(program.out().isEmpty());
}

void ProgramTest::complete_stops_on_sigint_with_1() {
  // A thousand tokens of the scalar code take seconds; the signal comes at the first.
  const QString model = QString::fromStdString(lathe::tests::source_path("resources/demo_model"));
  Program program({"complete", "--model", model, "--isa", "scalar", "--threads", "1", "--prompt", "Hello", "--max-tokens",
                   "0", "--ignore-eos"});
  QVERIFY(program.first_error().contains("Loaded"));
  program.signal(SIGINT);
  QCOMPARE(program.wait(), 1);
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

LATHE_TEST(ProgramTest)

}  // namespace program_test
#include "program_test.moc"
