// SPDX-License-Identifier: Apache-2.0
// Content codings of request bodies.
#include "app/server/http/content_coding.h"

#include <QtTest>

#include "tests/support/compressed.h"
#include "tests/support/test_class.h"

namespace content_coding_test {

using namespace lathe;
using namespace lathe::app::http;
using engine::ErrorCode;
using tests::Wrapper;

namespace {

constexpr std::size_t kMost = 1 << 20;
using Names = std::vector<std::string>;

RequestHead head_with(const Names& values) {
  RequestHead head;
  for (const std::string& value : values) head.fields.push_back({"Content-Encoding", value});
  return head;
}

/// Text that no coding shortens much.
std::string noise(std::size_t n) {
  std::string text(n, '\0');
  std::uint32_t state = 1;
  for (char& c : text) c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return text;
}

}  // namespace

class ContentCodingTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void names_are_read_as_rfc_9110_says() {
    QCOMPARE(*content_codings(head_with({})), Names());
    QCOMPARE(*content_codings(head_with({"identity"})), Names());
    QCOMPARE(*content_codings(head_with({""})), Names());
    QCOMPARE(*content_codings(head_with({"GZip"})), Names({"gzip"}));
    QCOMPARE(*content_codings(head_with({"x-gzip"})), Names({"gzip"}));
    QCOMPARE(*content_codings(head_with({"gzip, br ,identity,\tzstd"})), Names({"gzip", "br", "zstd"}));
    QCOMPARE(*content_codings(head_with({"gzip", "deflate"})), Names({"gzip", "deflate"}));
    for (const char* unknown : {"compress", "x-nobody", "gzip;q=1", "gzip br", "*", "aes128gcm"}) {
      const auto refused = content_codings(head_with({unknown}));
      QVERIFY(!refused.has_value());
      QVERIFY2(refused.error().message.find(std::string("\"") + unknown + "\"") != std::string::npos,
               refused.error().message.c_str());
    }
    QVERIFY(content_codings(head_with({"gzip, gzip, gzip, gzip"})).has_value());
    QVERIFY(!content_codings(head_with({"gzip, gzip, gzip, gzip, gzip"})).has_value());
  }

  void bodies_are_decoded_data() {
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("codings");
    QTest::addColumn<QByteArray>("text");
    const auto row = [](const char* name, const std::string& body, const char* codings, const std::string& text) {
      QTest::newRow(name) << QByteArray::fromStdString(body) << QByteArray(codings) << QByteArray::fromStdString(text);
    };
    const std::string text = R"({"prompt":"ab","max_tokens":2})", much = noise(700'000), zeros(kMost, '\0');
    row("gzip", tests::gzipped(text), "gzip", text);
    row("gzip of nothing", tests::gzipped(""), "gzip", "");
    row("gzip of much", tests::gzipped(much), "gzip", much);
    row("gzip of the limit", tests::gzipped(zeros), "gzip", zeros);
    row("gzip of two members", tests::gzipped("one ") + tests::gzipped("two"), "gzip", "one two");
    row("deflate", tests::deflated(text, Wrapper::zlib), "deflate", text);
    row("deflate without its wrapper", tests::deflated(text, Wrapper::none), "deflate", text);
    row("deflate of much", tests::deflated(much, Wrapper::zlib), "deflate", much);
    row("br", tests::brotli_kept(), "br", text);
    row("br, stored", tests::brotli_stored(text), "br", text);
    row("zstd", tests::zstd_frame(text), "zstd", text);
    row("zstd of much", tests::zstd_frame(much), "zstd", much);
    row("zstd of the limit", tests::zstd_frame(zeros), "zstd", zeros);
    row("zstd of two frames", tests::zstd_frame("one ") + tests::zstd_frame("two"), "zstd", "one two");
    row("zstd with a frame to be skipped", std::string("\x50\x2a\x4d\x18\x02\0\0\0xx", 10) + tests::zstd_frame(text), "zstd",
        text);
    row("zstd with the largest window", tests::zstd_frame(text, 23), "zstd", text);
    row("one over the other", tests::zstd_frame(tests::gzipped(text)), "gzip, zstd", text);
    row("four", tests::gzipped(tests::deflated(tests::brotli_stored(tests::zstd_frame(text)), Wrapper::zlib)),
        "zstd, br, deflate, gzip", text);
    row("none", text, "", text);
  }
  void bodies_are_decoded() {
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, codings);
    QFETCH(QByteArray, text);
    const auto decoded = decode_content(body.toStdString(), *content_codings(head_with({codings.toStdString()})), kMost);
    QVERIFY2(decoded.has_value(), decoded ? "" : decoded.error().message.c_str());
    QVERIFY(*decoded == text.toStdString());
  }

  void broken_bodies_are_told_data() {
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("codings");
    const auto row = [](const std::string& name, const std::string& body, const char* codings) {
      QTest::newRow(name.c_str()) << QByteArray::fromStdString(body) << QByteArray(codings);
    };
    const std::string text = R"({"prompt":"ab","max_tokens":2})";
    const std::pair<const char*, std::string> kept[] = {{"gzip", tests::gzipped(text)},
                                                        {"deflate", tests::deflated(text, Wrapper::zlib)},
                                                        {"br", tests::brotli_kept()},
                                                        {"zstd", tests::zstd_frame(text)}};
    for (const auto& [coding, body] : kept) {
      const std::string name = coding;
      row(name + " of plain text", text, coding);
      row(name + " of nothing", "", coding);
      row(name + " with more behind it", body + "more", coding);
      for (std::size_t n = 1; n < body.size(); ++n) row(name + " cut to " + std::to_string(n), body.substr(0, n), coding);
    }
    std::string damaged = tests::gzipped(text);
    damaged[damaged.size() - 6] ^= 1;
    row("gzip with a wrong checksum", damaged, "gzip");
    row("in the wrong order", tests::gzipped(tests::zstd_frame(text)), "gzip, zstd");
    row("zstd with a window that is too large", tests::zstd_frame(text, 27), "zstd");
  }
  void broken_bodies_are_told() {
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, codings);
    const auto decoded = decode_content(body.toStdString(), *content_codings(head_with({codings.toStdString()})), kMost);
    QVERIFY(!decoded.has_value());
    QCOMPARE(decoded.error().code, ErrorCode::invalid_argument);
    QVERIFY2(decoded.error().message.find("is not valid") != std::string::npos, decoded.error().message.c_str());
  }

  /// However small the body is and however it is nested.
  void bombs_end_at_the_limit_data() {
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("codings");
    const std::string zeros(64u << 20, '\0'), one_more(kMost + 1, '\0');
    const auto row = [](const char* name, const std::string& body, const char* codings) {
      QTest::newRow(name) << QByteArray::fromStdString(body) << QByteArray(codings);
    };
    row("gzip", tests::gzipped(zeros), "gzip");
    row("deflate", tests::deflated(zeros, Wrapper::zlib), "deflate");
    row("zstd", tests::zstd_frame(zeros), "zstd");
    row("br", tests::brotli_bomb(), "br");
    row("one byte too much", tests::gzipped(one_more), "gzip");
    row("many members", tests::gzipped(one_more.substr(kMost / 2)) + tests::gzipped(one_more.substr(kMost / 2)), "gzip");
    row("gzip in gzip", tests::gzipped(tests::gzipped(zeros)), "gzip, gzip");
    row("a large gzip in zstd", tests::zstd_frame(tests::gzipped(noise(2 * kMost))), "gzip, zstd");
  }
  void bombs_end_at_the_limit() {
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, codings);
    const auto decoded = decode_content(body.toStdString(), *content_codings(head_with({codings.toStdString()})), kMost);
    QVERIFY(!decoded.has_value());
    QCOMPARE(decoded.error().code, ErrorCode::too_large);
    QVERIFY(decoded.error().message.find("1048576") != std::string::npos);
  }
};

LATHE_TEST(ContentCodingTest)

}  // namespace content_coding_test
#include "content_coding_test.moc"
