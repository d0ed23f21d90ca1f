// SPDX-License-Identifier: Apache-2.0
// The why-events in words.
#include <QObject>
#include <QtTest>

#include "engine/api/request.h"
#include "engine/api/scheduler_event.h"
#include "tests/support/test_class.h"

namespace scheduler_event_test {

using namespace lathe::engine;

namespace {

constexpr auto kStop = static_cast<std::int64_t>(FinishReason::stop);
constexpr auto kLength = static_cast<std::int64_t>(FinishReason::length);

QString sentence(SchedulerEventKind kind, std::array<std::int64_t, 4> n) {
  return QString::fromStdString(sentence_of({.kind = kind, .n = n}));
}

}  // namespace

class SchedulerEventTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void sentences_data();
  void sentences();
  void every_kind_has_a_word_and_a_sentence();
};

void SchedulerEventTest::sentences_data() {
  using Kind = SchedulerEventKind;
  using N = std::array<std::int64_t, 4>;
  QTest::addColumn<QString>("said");
  QTest::addColumn<QString>("expected");
  const auto row = [](const char* name, Kind kind, N n, const char* expected) {
    QTest::newRow(name) << sentence(kind, n) << QString(expected);
  };
  row("first in the queue", Kind::queued, {0}, "No request ahead.");
  row("one ahead", Kind::queued, {1}, "1 request ahead.");
  row("two ahead", Kind::queued, {2}, "2 requests ahead.");
  row("no blocks", Kind::waiting, {72, 69, 8, 16}, "Needs 72 blocks, 69 free, 8 kept for running requests.");
  row("no blocks, nothing running", Kind::waiting, {72, 69, 0, 16}, "Needs 72 blocks, 69 free.");
  row("no place", Kind::waiting, {2, 69, 16, 16}, "16 requests run, and max_num_seqs is 16.");
  row("no budget", Kind::waiting, {2, 69, 3, 16}, "Running requests used the token budget of the step.");
  row("no room for a reservation", Kind::waiting_reservation, {72, 69, 8},
      "Reserves 72 blocks in one piece, 69 free; 8 requests hold reservations.");
  row("a batch runs", Kind::waiting_batch, {3, 8}, "No request can join the running batch: 3 of its 8 answers unfinished.");
  row("a batch fills", Kind::waiting_fill, {3, 8, 50},
      "A batch starts with 8 requests, 3 waiting now, or 50 ms after the first one arrived.");
  row("batched, free", Kind::batched, {8, 120, 0, 5},
      "8 requests together, because the engine was free; prompts padded to 120 tokens.");
  row("batched, full", Kind::batched, {8, 120, 1, 5},
      "8 requests together, because the batch was full; prompts padded to 120 tokens.");
  row("batched, delay", Kind::batched, {1, 120, 2, 50},
      "1 request together, because 50 ms had passed since the first one arrived; prompts padded to 120 tokens.");
  row("admitted to a batch", Kind::admitted, {1211, 0, 0}, "0 of 1,211 prompt tokens cached.");
  row("admitted", Kind::admitted, {1211, 64, 385}, "64 of 1,211 prompt tokens cached; first chunk 385.");
  row("admitted, cut back", Kind::admitted, {1211, 384, 500, 512},
      "384 of 1,211 prompt tokens cached; KV for 512 tokens cached, nearest snapshot at 384; first chunk 500.");
  row("admitted, no snapshot", Kind::admitted, {1211, 0, 0, 512},
      "0 of 1,211 prompt tokens cached; KV for 512 tokens cached, but no snapshot of their states.");
  row("chunk", Kind::chunked, {505, 512, 7, 321}, "505 tokens of a budget of 512, together with 7 decodes; 321 left.");
  row("paced chunk", Kind::paced, {51, 100, 3, 1478},
      "51 tokens, so that the wait of 3 answers stays within 100 ms; 1,478 left.");
  row("chunk alone", Kind::chunked, {512, 512, 0, 1}, "512 tokens of a budget of 512; 1 left.");
  row("prefilled", Kind::prefilled, {1147}, "First token; 1,147 prompt tokens computed.");
  row("preempted", Kind::preempted, {1216, 1024, 12, 12},
      "KV pool full (1,024 / 1,024 blocks); preempted as the last of 12 admitted: 1,216 tokens to recompute.");
  row("resumed", Kind::resumed, {1152, 64}, "1,152 of 1,216 tokens from the prefix cache.");
  row("resumed, cut back", Kind::resumed, {1024, 192, 1152},
      "1,024 of 1,216 tokens from the prefix cache; KV for 1,152 tokens cached, nearest snapshot at 1,024.");
  row("evicted", Kind::evicted, {1}, "1 cached block evicted for this request.");
  row("jumped ahead", Kind::jumped_ahead, {12, 1040}, "12 tokens forced by the output format; the answer has 1,040.");
  row("eos", Kind::finished, {232, kStop, 1}, "Stop: eos after 232 tokens.");
  row("stop token", Kind::finished, {2, kStop, 2}, "Stop: stop token after 2 tokens.");
  row("stop string", Kind::finished, {1, kStop, 3}, "Stop: stop string after 1 token.");
  row("length", Kind::finished, {96, kLength}, "Length: 96 tokens.");
  row("cancelled", Kind::cancelled, {57}, "By the client after 57 tokens.");
  row("failed", Kind::failed, {0}, "Error after 0 tokens.");
  row("millions", Kind::prefilled, {1234567}, "First token; 1,234,567 prompt tokens computed.");
}

void SchedulerEventTest::sentences() {
  QFETCH(QString, said);
  QFETCH(QString, expected);
  QCOMPARE(said, expected);
}

void SchedulerEventTest::every_kind_has_a_word_and_a_sentence() {
  for (int kind = 0; kind <= static_cast<int>(SchedulerEventKind::failed); ++kind) {
    QVERIFY(word_of(static_cast<SchedulerEventKind>(kind)).size() > 3);
    QVERIFY(sentence(static_cast<SchedulerEventKind>(kind), {}).endsWith('.'));
  }
}

LATHE_TEST(SchedulerEventTest)

}  // namespace scheduler_event_test
#include "scheduler_event_test.moc"
