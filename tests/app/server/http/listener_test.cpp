// SPDX-License-Identifier: Apache-2.0
// D1: what an answer throws while it is built costs its own request; everything else goes on.
#include "app/server/http/listener.h"

#include <QtTest>
#include <atomic>
#include <new>
#include <stdexcept>

#include "app/server/answer_store.h"
#include "app/server/field_warnings.h"
#include "app/server/router.h"
#include "tests/support/few_threads.h"
#include "tests/support/http_client.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace listener_test {

using namespace lathe;
using namespace lathe::app::http;
using tests::HttpClient;
using tests::HttpReply;

namespace {

[[noreturn]] void fail_at(const std::string& path) {
  if (path.ends_with("/memory")) throw std::bad_alloc();
  throw std::runtime_error("NaN at 0x7ffe in /home/me/model");
}

/// Throws where its path says so.
class ThrowingResponse final : public PendingResponse {
 public:
  explicit ThrowingResponse(std::string path) : path_(std::move(path)) {}
  void on_wake(std::function<void()>) override {}
  void cancel() override {}
  void interrupt() override {}
  bool ready() override {
    if (path_.starts_with("/ready")) fail_at(path_);
    return true;
  }
  Response take() override {
    if (path_.starts_with("/take")) fail_at(path_);
    return {.body = "fine"};
  }

 private:
  std::string path_;
};

class ThrowingStream final : public PieceStream {
 public:
  void on_wake(std::function<void()> wake) override { wake_ = std::move(wake); }
  void cancel() override {}
  void interrupt() override {}
  std::string content_type() const override { return "text/plain"; }
  bool pull(std::string& out) override {
    if (++n_pulls_ > 1) fail_at("/memory");
    out += "first";
    if (wake_) wake_();
    return true;
  }
  bool failed() const override { return false; }

 private:
  std::function<void()> wake_;
  int n_pulls_ = 0;
};

/// Says nothing in its first pulls. It wakes its connection for each where its path says so.
class SilentStream final : public PieceStream {
 public:
  explicit SilentStream(bool wakes) : wakes_(wakes) {}
  void on_wake(std::function<void()> wake) override { wake_ = std::move(wake); }
  void cancel() override {}
  void interrupt() override {}
  std::string content_type() const override { return "text/plain"; }
  std::string filler() const override { return "."; }
  bool pull(std::string& out) override {
    const bool more = ++n_pulls_ < 5;
    if (!more) out += "end";
    if (wakes_ && wake_) wake_();
    return more;
  }
  bool failed() const override { return false; }

 private:
  const bool wakes_;
  std::function<void()> wake_;
  int n_pulls_ = 0;
};

class ThrowingHandler final : public Handler {
 public:
  Screening screen(const RequestHead&) override { return {}; }
  Reply handle(Request request) override {
    if (request.path.starts_with("/handle")) fail_at(request.path);
    if (request.path.starts_with("/silent")) return std::make_unique<SilentStream>(request.path.ends_with("/woken"));
    if (request.path.starts_with("/pull")) return std::make_unique<ThrowingStream>();
    return std::make_unique<ThrowingResponse>(request.path);
  }
  Response refuse(const RequestHead*, const Refusal& refusal) override { return {.status = refusal.status}; }
  Response failed(const RequestHead& head, const std::exception_ptr& why) override {
    if (head.path.ends_with("/twice")) throw std::bad_alloc();
    try {
      std::rethrow_exception(why);
    } catch (const std::bad_alloc&) {
      return {.status = 429};
    } catch (const std::exception&) {
      return {.status = 500};
    }
  }
  void answered(const RequestHead&, int status) override { last_status = status; }

  std::atomic<int> last_status{0};
};

struct Served {
  explicit Served(std::chrono::milliseconds stream_silence = Limits().stream_silence) : listener(open(stream_silence)) {}

  ThrowingHandler handler;
  std::unique_ptr<Listener> listener;

  std::unique_ptr<Listener> open(std::chrono::milliseconds stream_silence) {
    ListenerOptions options;
    options.limits.stream_silence = stream_silence;
    options.host = "127.0.0.1";
    return std::move(*Listener::open(options, handler));
  }
};

}  // namespace

class ListenerTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void D1_what_an_answer_throws_costs_its_request_data();
  void D1_what_an_answer_throws_costs_its_request();
  void D1_a_failure_of_the_failure_costs_the_connection();
  void D1_a_stream_that_throws_is_seen_to_be_cut_off();
  void D1_the_router_tells_memory_from_bugs();
  void threads_that_cannot_be_had_are_an_error();
  void a_silent_stream_sends_its_filler();
  void a_stream_is_as_silent_as_it_is_allowed_to_be();
};

void ListenerTest::a_silent_stream_sends_its_filler() {
  const Served served(std::chrono::milliseconds(1));
  HttpClient client(served.listener->port());
  for (int i = 0; i < 2; ++i) {
    const std::string body = client.get("/silent").body;
    QVERIFY2(body.starts_with("...") && body.ends_with(".end") && body.size() <= 4 + 3, body.c_str());
  }
}

void ListenerTest::a_stream_is_as_silent_as_it_is_allowed_to_be() {
  for (const std::chrono::milliseconds most : {std::chrono::milliseconds(0), std::chrono::milliseconds(3'600'000)}) {
    const Served served(most);
    HttpClient client(served.listener->port());
    for (int i = 0; i < 2; ++i) QCOMPARE(client.get("/silent/woken").body, "end");
  }
}

void ListenerTest::D1_what_an_answer_throws_costs_its_request_data() {
  QTest::addColumn<QByteArray>("path");
  QTest::addColumn<int>("status");
  QTest::newRow("memory while it is built") << QByteArray("/take/memory") << 429;
  QTest::newRow("a bug while it is built") << QByteArray("/take/bug") << 500;
  QTest::newRow("memory while it is collected") << QByteArray("/ready/memory") << 429;
  QTest::newRow("a bug while it is collected") << QByteArray("/ready/bug") << 500;
}

void ListenerTest::D1_what_an_answer_throws_costs_its_request() {
  QFETCH(QByteArray, path);
  QFETCH(int, status);
  Served served;
  HttpClient client(served.listener->port()), witness(served.listener->port());
  QCOMPARE(witness.get("/fine").body, "fine");
  QCOMPARE(client.get(path.toStdString()).status, status);
  QCOMPARE(client.get("/fine").body, "fine");  // not even its connection is lost
  QCOMPARE(witness.get("/fine").body, "fine");
}

void ListenerTest::D1_a_failure_of_the_failure_costs_the_connection() {
  Served served;
  HttpClient witness(served.listener->port());
  for (const char* path : {"/take/twice", "/handle/bug"}) {
    HttpClient client(served.listener->port());
    QCOMPARE(client.get(path).status, 0);
    QVERIFY(client.closed_by_server());
  }
  QCOMPARE(witness.get("/fine").body, "fine");
  QTRY_COMPARE(served.listener->n_connections(), 1);
}

void ListenerTest::D1_a_stream_that_throws_is_seen_to_be_cut_off() {
  Served served;
  HttpClient client(served.listener->port());
  client.send(client.request("GET", "/pull"));
  QCOMPARE(client.read_head().status, 200);
  const std::string body = client.read_to_end();
  QVERIFY2(body.find("first") != std::string::npos, body.c_str());
  QVERIFY2(!body.ends_with("0\r\n\r\n"), body.c_str());
  QTRY_COMPARE(served.handler.last_status.load(), 500);
  QTRY_COMPARE(served.listener->n_connections(), 0);
  QCOMPARE(HttpClient(served.listener->port()).get("/fine").body, "fine");
}

void ListenerTest::D1_the_router_tells_memory_from_bugs() {
  tests::ServerFixture fixture;
  app::IdSource ids;
  app::WarningLog warned;
  app::Traffic traffic;
  app::AnswerStore answers;
  std::atomic<std::uint64_t> cache_epoch = 0;
  app::Router router(
      {}, {fixture.models(), fixture.requests(), fixture.log(), ids, warned, answers, cache_epoch, traffic}, traffic);
  RequestHead head;
  head.method = "POST";
  head.path = "/v1/completions";
  const Response memory = router.failed(head, std::make_exception_ptr(std::bad_alloc()));
  QCOMPARE(memory.status, 429);
  QVERIFY(memory.body.find("not enough memory") != std::string::npos);
  const Response bug = router.failed(head, std::make_exception_ptr(std::runtime_error("NaN at 0x7ffe in /home/me")));
  QCOMPARE(bug.status, 500);
  QVERIFY(bug.body.find("/home") == std::string::npos && bug.body.find("\"error\"") != std::string::npos);
  QCOMPARE(router.failed(head, std::make_exception_ptr(7)).status, 500);
  std::uint64_t cursor = 0;
  bool logged = false;
  for (const app::LogLine& line : fixture.log().lines_since(cursor)) {
    logged = logged || line.text.find("/home/me") != std::string::npos;
  }
  QVERIFY(logged);
}

void ListenerTest::threads_that_cannot_be_had_are_an_error() {
  if (!std::string(LATHE_SANITIZERS).empty()) QSKIP("skipped: the sanitizers need the address space");
  ThrowingHandler handler;
  ListenerOptions options;
  options.host = "127.0.0.1";
  options.n_workers = 64;
  const auto refused = [&] {
    const tests::FewThreads few(3);
    return Listener::open(options, handler);
  }();
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, engine::ErrorCode::resource_exhausted);
  QVERIFY2(refused.error().message.find("65 threads") != std::string::npos, refused.error().message.c_str());
}

LATHE_TEST(ListenerTest)

}  // namespace listener_test
#include "listener_test.moc"
