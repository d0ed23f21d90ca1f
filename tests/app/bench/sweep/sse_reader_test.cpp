// SPDX-License-Identifier: Apache-2.0
// Server-sent events out of pieces of any size.
#include "app/bench/sweep/sse_reader.h"

#include <QTest>

using lathe::app::SseReader;

class SseReaderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void events_come_out_whatever_the_pieces() {
    const std::string text = ": hello\r\nevent: x\r\ndata: {\"a\":1}\r\n\r\ndata:two\ndata: lines\n\n\n\ndata: [DONE]\r\r";
    const std::vector<std::string> wanted = {"{\"a\":1}", "two\nlines", "[DONE]"};
    for (std::size_t size = 1; size <= text.size(); ++size) {
      SseReader reader;
      std::vector<std::string> events;
      for (std::size_t at = 0; at < text.size(); at += size) {
        const auto more = reader.add(std::string_view(text).substr(at, size));
        QVERIFY(more.has_value());
        events.insert(events.end(), more->begin(), more->end());
      }
      QVERIFY2(events == wanted, std::to_string(size).c_str());
      QVERIFY(reader.is_at_end());
    }
  }

  void what_is_cut_is_known() {
    SseReader reader;
    QVERIFY(reader.add("data: {\"a\"")->empty());
    QVERIFY(!reader.is_at_end());
    QVERIFY(reader.add("}\n")->empty());
    QVERIFY(!reader.is_at_end());
    QCOMPARE(reader.add("\n")->size(), std::size_t{1});
  }

  void an_endless_event_is_refused() {
    SseReader reader;
    const std::string much(1 << 20, 'x');
    bool is_refused = false;
    for (int i = 0; i < 8 && !is_refused; ++i) is_refused = !reader.add(much).has_value();
    QVERIFY(is_refused);
  }
};

QTEST_GUILESS_MAIN(SseReaderTest)
#include "sse_reader_test.moc"
