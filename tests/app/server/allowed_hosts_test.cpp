// SPDX-License-Identifier: Apache-2.0
// Names that the user lets into the Host header, and the words for those that are not.
#include <unistd.h>

#include <QtTest>
#include <array>

#include "app/server/access.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"

namespace allowed_hosts_test {

using namespace lathe;
using tests::HttpClient;
using tests::HttpReply;
using tests::ServerFixture;

class AllowedHostsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void S18_a_listed_name_has_any_port_data();
  void S18_a_listed_name_has_any_port();
  void S18_a_refused_host_is_told_what_would_let_it_in();
  void names_of_the_machine_are_its_own();
  void S18_the_key_opens_every_name();

 private:
  static int status_for(const ServerFixture& fixture, const std::string& host, const std::string& more = {}) {
    HttpClient client(fixture.port());
    client.send("GET /v1/models HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n");
    return client.read_reply().status;
  }
};

void AllowedHostsTest::S18_a_listed_name_has_any_port_data() {
  QTest::addColumn<QByteArray>("listed");
  QTest::addColumn<QByteArray>("host");
  QTest::addColumn<bool>("served");
  const auto row = [](const char* listed, const char* host, bool served) {
    QTest::addRow("%s for %s", listed, host) << QByteArray(listed) << QByteArray(host) << served;
  };
  for (const char* host : {"host.docker.internal", "host.docker.internal:8000", "host.docker.internal:9000",
                           "Host.Docker.Internal:1", "host.docker.internal.", "host.docker.internal.:8000"}) {
    row("host.docker.internal", host, true);
    row("HOST.docker.internal.", host, true);
  }
  for (const char* host : {"host.docker.internal:", "host.docker.internal:x", "host.docker.internal:80:80",
                           "host.docker.internal:123456", "a.host.docker.internal", "host.docker.internal.evil.example",
                           "host.docker.internal..", "a@host.docker.internal", "[host.docker.internal]", ""}) {
    row("host.docker.internal", host, false);
  }
  row("host.docker.internal:9000", "host.docker.internal:9000", true);
  row("host.docker.internal:9000", "host.docker.internal", false);
  row("host.docker.internal:9000", "host.docker.internal:8000", false);
  for (const char* listed : {"fd00::1", "[fd00::1]", "[FD00::1]"}) {
    row(listed, "[fd00::1]", true);
    row(listed, "[fd00::1]:8000", true);
    row(listed, "[fd00::2]:8000", false);
    row(listed, "[fd00::1]x", false);
    row(listed, "[fd00::1", false);
  }
  row("[fd00::1]:9000", "[fd00::1]:9000", true);
  row("[fd00::1]:9000", "[fd00::1]:8000", false);
  row("localhost", "localhost", true);
  row("localhost", "localhost:9000", true);
  row("", "", false);
  row("", "evil.example", false);
}

void AllowedHostsTest::S18_a_listed_name_has_any_port() {
  QFETCH(QByteArray, listed);
  QFETCH(QByteArray, host);
  QFETCH(bool, served);
  app::ServerOptions options;
  options.allowed_hosts = {listed.toStdString()};
  app::http::RequestHead head;
  head.local_address = "127.0.0.1";
  head.local_port = 8000;
  head.fields = {{"Host", host.toStdString()}};
  QCOMPARE(!app::Access(options).check_host(head), served);
}

void AllowedHostsTest::S18_a_refused_host_is_told_what_would_let_it_in() {
  ServerFixture fixture;
  for (const std::string host : {"localhost", "host.docker.internal:8000", "probe", "my-proxy.example"}) {
    HttpClient client(fixture.port());
    client.send("GET /health HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    const HttpReply reply = client.read_reply();
    QCOMPARE(reply.status, 421);
    const std::string message = reply.json()["error"]["message"];
    QVERIFY2(message.find("--allowed-hosts " + host) != std::string::npos, message.c_str());
  }
}

void AllowedHostsTest::names_of_the_machine_are_its_own() {
  const ServerFixture fixture;
  std::array<char, 256> name{};
  QCOMPARE(::gethostname(name.data(), name.size() - 1), 0);
  const std::string machine = name.data(), port = ":" + std::to_string(fixture.port());
  QCOMPARE(status_for(fixture, machine + port), 200);
  QCOMPARE(status_for(fixture, machine + ".local" + port), 200);
  QCOMPARE(status_for(fixture, machine + ".example" + port), 421);
}

/// A page that reaches the server by DNS rebinding does not know the key.
void AllowedHostsTest::S18_the_key_opens_every_name() {
  ServerFixture::Options options;
  options.server.api_key = "sk-secret";
  const ServerFixture fixture(options);
  const std::string host = "host.docker.internal:1";
  QCOMPARE(status_for(fixture, host, "Authorization: Bearer sk-secret\r\n"), 200);
  QCOMPARE(status_for(fixture, host, "x-api-key: sk-secret\r\n"), 200);
  QCOMPARE(status_for(fixture, host, "x-api-key: sk-secre\r\n"), 421);
  QCOMPARE(status_for(fixture, host), 421);
}

LATHE_TEST(AllowedHostsTest)

}  // namespace allowed_hosts_test
#include "allowed_hosts_test.moc"
