// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/raw_head.h"

#include <QtTest>

#include "tests/support/test_class.h"

namespace raw_head_test {

using namespace lathe::app::http;

namespace {

const Limits kLimits;

std::string head_with(const std::string& fields) { return "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"; }

/// Status with which a complete head is refused; 0: it is accepted.
int status_of(const std::string& head) {
  const HeadScan scan = scan_head(head, kLimits);
  if (scan.refusal) return scan.refusal->status;
  if (scan.size == 0) return -1;
  const auto refusal = check_head(std::string_view(head).substr(0, scan.size), kLimits);
  return refusal ? refusal->status : 0;
}

}  // namespace

class RawHeadTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_plain_head_passes();
  void an_unfinished_head_asks_for_more();
  void a_body_behind_the_head_is_not_counted();
  void framing_fields_have_one_spelling_data();
  void framing_fields_have_one_spelling();
  void malformed_lines_are_refused_data();
  void malformed_lines_are_refused();
  void what_is_no_http_is_refused_at_once_data();
  void what_is_no_http_is_refused_at_once();
  void lines_are_counted();
  void a_long_line_is_431();
  void a_long_target_is_414_before_its_line_ends();
  void an_endless_header_is_431_before_it_ends();
  void targets_are_split();
  void an_absolute_target_names_its_authority();
  void odd_targets_are_refused();
};

void RawHeadTest::a_plain_head_passes() { QCOMPARE(status_of(head_with("Accept: */*\r\n")), 0); }

void RawHeadTest::an_unfinished_head_asks_for_more() {
  const std::string head = head_with("Accept: */*\r\n");
  for (std::size_t n = 0; n < head.size(); ++n) {
    const HeadScan scan = scan_head(std::string_view(head).substr(0, n), kLimits);
    QVERIFY(scan.size == 0 && !scan.refusal);
  }
}

void RawHeadTest::a_body_behind_the_head_is_not_counted() {
  const std::string head = head_with("");
  QCOMPARE(scan_head(head + std::string(100'000, 'x'), kLimits).size, head.size());
}

void RawHeadTest::framing_fields_have_one_spelling_data() {
  QTest::addColumn<QByteArray>("fields");
  QTest::addColumn<int>("status");
  const auto row = [](const char* name, const char* fields, int status) {
    QTest::newRow(name) << QByteArray(fields) << status;
  };
  row("length", "Content-Length: 5\r\n", 0);
  row("chunked", "Transfer-Encoding: chunked\r\n", 0);
  row("negative", "Content-Length: -1\r\n", 400);
  row("plus", "Content-Length: +1\r\n", 400);
  row("hex", "Content-Length: 0x10\r\n", 400);
  row("list", "Content-Length: 5, 5\r\n", 400);
  row("twice", "Content-Length: 5\r\nContent-Length: 5\r\n", 400);
  row("empty", "Content-Length:\r\n", 400);
  row("past 2^64", "Content-Length: 18446744073709551621\r\n", 400);
  row("length and encoding", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400);
  row("gzip", "Transfer-Encoding: gzip, chunked\r\n", 400);
  row("encoding twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400);
  row("folded encoding", "Transfer-Encoding:\r\n chunked\r\n", 400);
  row("host twice", "Host: b\r\n", 400);
}

void RawHeadTest::framing_fields_have_one_spelling() {
  QFETCH(QByteArray, fields);
  QTEST(status_of(head_with(fields.toStdString())), "status");
}

void RawHeadTest::malformed_lines_are_refused_data() {
  QTest::addColumn<QByteArray>("head");
  const auto row = [](const char* name, const QByteArray& head) { QTest::newRow(name) << head; };
  row("no host", "GET / HTTP/1.1\r\n\r\n");
  row("bare line feed", "GET / HTTP/1.1\nHost: a\n\n");
  row("bare line feed in a field", "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n");
  row("NUL in a value", QByteArray("GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n", 35));
  row("CR in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n");
  row("blank before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n");
  row("no colon", "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n");
  row("empty name", "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n");
  row("encoding in HTTP/1.0", "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void RawHeadTest::malformed_lines_are_refused() {
  QFETCH(QByteArray, head);
  QCOMPARE(status_of(head.toStdString()), 400);
}

void RawHeadTest::what_is_no_http_is_refused_at_once_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::newRow("TLS") << QByteArray("\x16\x03\x01\x02", 4);
  QTest::newRow("HTTP/2") << QByteArray("PRI * HTTP/2.0\r\n");
  QTest::newRow("HTTP/0.9") << QByteArray("GET /\r\n");
  QTest::newRow("blank in the target") << QByteArray("GET /a b HTTP/1.1\r\n");
  QTest::newRow("bad method") << QByteArray("G(T / HTTP/1.1\r\n");
}

void RawHeadTest::what_is_no_http_is_refused_at_once() {
  QFETCH(QByteArray, bytes);
  const HeadScan scan = scan_head(bytes.toStdString(), kLimits);
  QVERIFY(scan.refusal);
  QCOMPARE(scan.refusal->status, 400);
}

void RawHeadTest::lines_are_counted() {
  std::string fields;
  for (std::size_t i = 1; i < kLimits.header_lines; ++i) fields += "X: y\r\n";  // with Host exactly the limit
  QCOMPARE(status_of(head_with(fields)), 0);
  QCOMPARE(status_of(head_with(fields + "X: y\r\n")), 431);
}

void RawHeadTest::a_long_line_is_431() {
  QCOMPARE(status_of(head_with("X: " + std::string(kLimits.line_bytes - 3, 'y') + "\r\n")), 0);
  QCOMPARE(status_of(head_with("X: " + std::string(kLimits.line_bytes - 2, 'y') + "\r\n")), 431);
}

void RawHeadTest::a_long_target_is_414_before_its_line_ends() {
  const HeadScan scan = scan_head("GET /" + std::string(kLimits.line_bytes + 100, 'a'), kLimits);
  QVERIFY(scan.refusal);
  QCOMPARE(scan.refusal->status, 414);
}

void RawHeadTest::an_endless_header_is_431_before_it_ends() {
  const HeadScan scan = scan_head("GET / HTTP/1.1\r\nHost: " + std::string(kLimits.header_bytes, 'a'), kLimits);
  QVERIFY(scan.refusal);
  QCOMPARE(scan.refusal->status, 431);
}

void RawHeadTest::targets_are_split() {
  RequestHead head;
  QVERIFY(split_target("/a/b?x=1?y", head));
  QCOMPARE(head.path, "/a/b");
  QCOMPARE(head.query, "x=1?y");
  QVERIFY(head.authority.empty());
}

void RawHeadTest::an_absolute_target_names_its_authority() {
  RequestHead head;
  QVERIFY(split_target("http://evil.com:80/v1?k", head));
  QCOMPARE(head.authority, "evil.com:80");
  QCOMPARE(head.path, "/v1");
  RequestHead bare;
  QVERIFY(split_target("HTTP://a", bare));
  QCOMPARE(bare.path, "/");
  QVERIFY(split_target("/v1", head));
  QVERIFY(head.authority.empty());
  QVERIFY(!split_target("?k", head));
}

void RawHeadTest::odd_targets_are_refused() {
  RequestHead head;
  QVERIFY(!split_target("evil.com:443", head));
  QVERIFY(!split_target("http:///x", head));
  QVERIFY(!split_target("https://a/x", head));
}

LATHE_TEST(RawHeadTest)

}  // namespace raw_head_test
#include "raw_head_test.moc"
