// SPDX-License-Identifier: Apache-2.0
// Server-sent events out of pieces of any size.
#include "app/bench/sweep/load/sse_reader.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace sse_reader_test {

using lathe::app::SseEvent;
using lathe::app::SseReader;

namespace {

/// "type=data" of each event, whatever the pieces in which the text comes. Empty: they differ by the pieces.
std::vector<std::string> events_of(const std::string& text) {
  std::vector<std::string> first;
  for (std::size_t size = 1; size <= text.size(); ++size) {
    SseReader reader;
    std::vector<std::string> events;
    for (std::size_t at = 0; at < text.size(); at += size) {
      const auto more = reader.add(std::string_view(text).substr(at, size));
      if (!more) return {};
      for (const SseEvent& event : *more) events.push_back(event.type + "=" + event.data);
    }
    if (size == 1) first = events;
    if (events != first) return {};
  }
  return first;
}

}  // namespace

class SseReaderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void events_come_out_whatever_the_pieces_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QList<QByteArray>>("events");
    const auto row = [](const char* name, const QByteArray& text, const QList<QByteArray>& events) {
      QTest::newRow(name) << text << events;
    };
    row("all", ": hello\r\nevent: x\r\ndata: {\"a\":1}\r\n\r\ndata:two\ndata: lines\n\n\n\ndata: [DONE]\r\r",
        {"x={\"a\":1}", "=two\nlines", "=[DONE]"});
    row("no blank", "data:a\n\ndata:b\n\n", {"=a", "=b"});
    row("two blanks", "data:  a\n\n", {"= a"});
    row("CR LF", "data: a\r\n\r\ndata: b\r\n\r\n", {"=a", "=b"});
    row("CR", "data: a\r\rdata: b\r\r", {"=a", "=b"});
    row("mixed line ends", "data: a\r\n\ndata: b\n\r\n", {"=a", "=b"});
    row("comments", ":\n\n: ping\n\ndata: a\n: inside\n\n:x\n", {"=a"});
    row("byte order mark",
        "\xef\xbb\xbf"
        "data: a\n\n",
        {"=a"});
    row("byte order mark later",
        "data: a\n\n\xef\xbb\xbf"
        "data: b\n\n",
        {"=a"});
    row("other fields", "id: 1\nretry: 100\ndata: a\nunknown: x\nid\n\n", {"=a"});
    row("several lines", "data: {\ndata: \"a\":\ndata: 1}\n\n", {"={\n\"a\":\n1}"});
    row("a type for its event alone", "event: error\ndata: a\n\ndata: b\n\n", {"error=a", "=b"});
    row("a type without data", "event: ping\n\ndata: b\n\n", {"=b"});
    row("no data", "data\n\ndata:\n\ndata: \n\ndata: a\n\n", {"=a"});
    row("not data", "database: x\n\n data: y\n\ndata: a\n\n", {"=a"});
  }
  void events_come_out_whatever_the_pieces() {
    QFETCH(QByteArray, text);
    QFETCH(QList<QByteArray>, events);
    std::vector<std::string> wanted;
    for (const QByteArray& event : events) wanted.push_back(event.toStdString());
    QCOMPARE(events_of(text.toStdString()), wanted);
  }

  void what_is_cut_is_known() {
    SseReader reader;
    QVERIFY(reader.add("data: {\"a\"")->empty());
    QVERIFY(!reader.is_at_end());
    QVERIFY(reader.add("}\n")->empty());
    QVERIFY(!reader.is_at_end());
    QCOMPARE(reader.add("\n")->size(), std::size_t{1});
    QVERIFY(reader.is_at_end());
  }

  void the_rest_of_a_stream_is_its_last_event() {
    for (const char* end : {"", "\n", "\r\n"}) {
      SseReader reader;
      QVERIFY(reader.add("data: a\n\nevent: x\ndata: b\ndata: c" + std::string(end)).has_value());
      QVERIFY(!reader.is_at_end());
      const SseEvent rest = reader.rest();
      QCOMPARE(rest.type + "=" + rest.data, std::string("x=b\nc"));
      QVERIFY(reader.is_at_end());
      QVERIFY(reader.rest().data.empty());
    }
  }

  void an_endless_event_is_refused() {
    SseReader reader;
    const std::string much(1 << 20, 'x');
    bool is_refused = false;
    for (int i = 0; i < 8 && !is_refused; ++i) is_refused = !reader.add(much).has_value();
    QVERIFY(is_refused);
  }
};

LATHE_TEST(SseReaderTest)

}  // namespace sse_reader_test
#include "sse_reader_test.moc"
