// SPDX-License-Identifier: Apache-2.0
// Request bodies in content codings, over HTTP.
#include <QtTest>

#include "tests/support/compressed.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace encoded_bodies_test {

using namespace lathe;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

namespace {

constexpr const char* kText = R"({"prompt":"ab","max_tokens":2})";
constexpr std::size_t kMost = 1 << 20;

std::string coded(const std::string& coding) { return "Content-Encoding: " + coding + "\r\n"; }

}  // namespace

class EncodedBodiesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    ServerFixture::Options options;
    options.server.limits.body_bytes = kMost;
    fixture_ = std::make_unique<ServerFixture>(options);
  }
  void cleanup() {
    const std::string left = fixture_->leftovers();
    fixture_.reset();
    QVERIFY2(left.empty(), left.c_str());
  }

  void bodies_are_read_in_every_coding() {
    HttpClient client(port());
    const std::pair<const char*, std::string> bodies[] = {{"gzip", tests::gzipped(kText)},
                                                          {"x-gzip", tests::gzipped(kText)},
                                                          {"GZIP", tests::gzipped(kText)},
                                                          {"deflate", tests::deflated(kText, tests::Wrapper::zlib)},
                                                          {"br", tests::brotli_stored(kText)},
                                                          {"zstd", tests::zstd_frame(kText)},
                                                          {"identity", kText},
                                                          {"gzip, br", tests::brotli_stored(tests::gzipped(kText))},
                                                          {"identity, gzip", tests::gzipped(kText)}};
    for (const auto& [coding, body] : bodies) {
      const HttpReply reply = client.post("/v1/completions", body, coded(coding));
      QVERIFY2(reply.status == 200, (std::string(coding) + ": " + reply.body).c_str());
      QCOMPARE(reply.json()["choices"][0]["text"], "ab");
    }
  }

  void every_route_that_is_posted_to_reads_them() {
    const std::pair<const char*, std::string> posts[] = {
        {"/v1/chat/completions", engine::dump_json(tests::chat_body("ab"))},
        {"/v1/chat/completions", engine::dump_json(tests::chat_body("ab", {{"stream", true}}))},
        {"/tokenize", R"({"prompt":"ab"})"},
        {"/detokenize", R"({"tokens":[97,98]})"}};
    for (const auto& [path, body] : posts) {
      QCOMPARE(HttpClient(port()).post(path, tests::gzipped(body), coded("gzip")).status, 200);
    }
  }

  void a_chunked_body_may_be_compressed() {
    HttpClient client(port());
    const std::string body = tests::gzipped(kText);
    std::string bytes = "POST /v1/completions HTTP/1.1\r\nHost: " + client.host() +
                        "\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const char c : body) bytes += std::string("1\r\n") + c + "\r\n";
    client.send(bytes + "0\r\n\r\n");
    QCOMPARE(client.read_reply().json()["choices"][0]["text"], "ab");
  }

  /// Before the body is sent, where the client asks for that.
  void an_unknown_coding_is_415_that_names_what_is_read() {
    HttpClient client(port());
    const std::string whole =
        client.request("POST", "/v1/completions", kText, coded("compress") + "Expect: 100-continue\r\n");
    client.send(whole.substr(0, whole.find("\r\n\r\n") + 4));
    const HttpReply reply = client.read_reply();
    QCOMPARE(reply.status, 415);
    QCOMPARE(reply.field("Accept-Encoding"), "gzip, deflate, br, zstd");
    const std::string message = reply.json()["error"]["message"];
    QVERIFY2(message.find("compress") != std::string::npos && message.find("zstd") != std::string::npos, message.c_str());
    QVERIFY(HttpClient(port()).post("/v1/completions", kText, coded("gzip")).field("Accept-Encoding").empty());
  }

  void a_body_that_is_not_what_it_says_is_400() {
    for (const char* coding : {"gzip", "br", "zstd", "deflate", "gzip, gzip"}) {
      HttpClient client(port());
      const HttpReply reply = client.post("/v1/completions", kText, coded(coding));
      QCOMPARE(reply.status, 400);
      const std::string message = reply.json()["error"]["message"];
      QVERIFY2(message.find("is not valid") != std::string::npos, message.c_str());
      QCOMPARE(client.get("/health").status, 200);  // it costs its request alone
    }
    QVERIFY(fixture_->engine().submitted().empty());
  }

  void a_bomb_is_413() {
    const std::string zeros(64u << 20, ' ');
    const std::pair<const char*, std::string> bombs[] = {{"gzip", tests::gzipped(zeros)},
                                                         {"zstd", tests::zstd_frame(zeros)},
                                                         {"br", tests::brotli_bomb()},
                                                         {"gzip, gzip", tests::gzipped(tests::gzipped(zeros))}};
    for (const auto& [coding, body] : bombs) {
      HttpClient client(port());
      const HttpReply reply = client.post("/v1/completions", body, coded(coding));
      QCOMPARE(reply.status, 413);
      QVERIFY(reply.json()["error"]["message"].get<std::string>().find("1048576") != std::string::npos);
      QCOMPARE(client.get("/health").status, 200);
    }
  }

  void the_limit_holds_for_what_is_decoded() {
    const std::string head = "{\"prompt\":\"ab\",\"max_tokens\":2,\"user\":\"", tail = "\"}";
    const std::string fits = head + std::string(kMost - head.size() - tail.size(), 'x') + tail;
    HttpClient client(port());
    QCOMPARE(client.post("/v1/completions", tests::gzipped(fits), coded("gzip")).status, 200);
    QCOMPARE(client.post("/v1/completions", tests::gzipped(fits + " "), coded("gzip")).status, 413);
  }

 private:
  std::uint16_t port() const { return fixture_->port(); }
  std::unique_ptr<ServerFixture> fixture_;
};

LATHE_TEST(EncodedBodiesTest)

}  // namespace encoded_bodies_test
#include "encoded_bodies_test.moc"
