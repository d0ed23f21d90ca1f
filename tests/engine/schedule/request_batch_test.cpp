// SPDX-License-Identifier: Apache-2.0
// Request-level batches and whole reservations step by step, with every row and every token of waste counted by hand.
#include "engine/schedule/request_batch.h"

#include <QObject>
#include <QtTest>

#include <deque>

#include "engine/schedule/scheduler.h"
#include "engine/schedule/scheduler_invariant.h"
#include "kernels/api/check.h"
#include "tests/support/test_class.h"

namespace request_batch_test {

using namespace lathe::engine;

namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Blocks of 4 tokens; the longest sequence has 16, so a reservation is 4 blocks.
SchedulerOptions options_of(int max_num_seqs, int budget = 64) {
  return {.max_num_seqs = max_num_seqs,
          .max_num_batched_tokens = budget,
          .max_logit_rows = 16,
          .max_seq_tokens = 16,
          .max_batch_delay_ns = 50 * kMs};
}

/// A scheduler with a hand-set clock, and sequences that end when their answer has the length that was asked.
struct Bench {
  Bench(std::string_view policy, const SchedulerOptions& options, int n_blocks = 16)
      : scheduler(options, *find_policy(policy), PagedCache(n_blocks, 4, true)) {}

  Sequence& add(int n_prompt, int n_answer) {
    Sequence& sequence = sequences.emplace_back();
    sequence.id = sequences.size();
    sequence.arrived_ns = now_ms * kMs;
    sequence.tokens.assign(static_cast<std::size_t>(n_prompt), 7);
    sequence.n_prompt = n_prompt;
    n_answers.push_back(n_answer);
    scheduler.add(sequence, now_ms * kMs);
    return sequence;
  }

  /// One step: the ids of the sequences in it.
  std::vector<std::uint64_t> step() {
    std::vector<std::uint64_t> ids;
    StepPlan& plan = scheduler.plan(now_ms * kMs);
    batch = plan.batch();
    n_padding = plan.n_padding_tokens;
    for (const PlannedSequence& entry : plan.entries) {
      ids.push_back(entry.sequence->id);
      scheduler.commit(entry);
      if (entry.samples) entry.sequence->tokens.push_back(9);
    }
    for (Sequence& sequence : sequences) {
      if (sequence.state == SequenceState::running && sequence.n_output() == n_answers[sequence.id - 1]) {
        scheduler.remove(sequence);
      }
    }
    LATHE_CHECK(is_consistent(scheduler));
    return ids;
  }

  const SchedulerEvent* event_of(std::uint64_t id, SchedulerEventKind kind) const {
    for (const SchedulerEvent& event : scheduler.events()) {
      if (event.request_id == id && event.kind == kind) return &event;
    }
    return nullptr;
  }
  int n_used() const { return scheduler.cache().pool().n_used(); }

  std::int64_t now_ms = 0;
  Scheduler scheduler;
  std::deque<Sequence> sequences;
  std::vector<int> n_answers;
  BatchPlan batch;
  int n_padding = 0;
};

using Ids = std::vector<std::uint64_t>;
using Numbers = std::array<std::int64_t, 4>;
using Kind = SchedulerEventKind;

}  // namespace

class RequestBatchTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void prompts_are_padded_to_the_longest();
  void an_ended_slot_computes_a_row_a_step();
  void padding_and_waste_have_the_counted_numbers();
  void paged_wastes_only_the_ends_of_blocks();
  void a_request_sees_what_all_held_while_it_ran();
  void a_batch_that_is_longer_than_a_step_is_read_in_pieces();
  void padding_that_is_left_over_goes_into_the_next_step();
  void without_chunks_a_padded_prompt_stays_whole();
  void nobody_joins_a_static_batch();
  void a_cancelled_member_becomes_padding();
  void a_member_that_is_cancelled_while_reading_becomes_padding();
  void a_batch_without_members_ends_at_once();
  void padding_at_the_end_of_the_context_stays_there();
  void dynamic_starts_when_enough_wait();
  void dynamic_starts_when_the_first_has_waited_long_enough();
  void the_delay_counts_from_the_arrival();
  void a_full_batch_is_no_more_than_fits();
  void a_delay_of_zero_waits_for_nobody();
  void continuous_reserves_in_one_piece_and_waits_for_room();
  void a_reservation_shares_no_prefix();
};

void RequestBatchTest::prompts_are_padded_to_the_longest() {
  Bench bench("static", options_of(4));
  bench.add(3, 2);
  bench.add(7, 4);
  QCOMPARE(bench.step(), (Ids{1, 2}));
  QCOMPARE(bench.batch.positions, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6}));
  QCOMPARE(bench.batch.query_start, (std::vector<std::int32_t>{0, 7, 14}));
  QCOMPARE(bench.batch.context_len, (std::vector<std::int32_t>{7, 7}));
  QCOMPARE(bench.batch.logit_rows, (std::vector<std::int32_t>{2, 13}));  // the last token of each prompt, not the padding
  QCOMPARE(bench.n_padding, 4);
  const SchedulerEvent* batched = bench.event_of(1, Kind::batched);
  QVERIFY(batched != nullptr);
  QCOMPARE(batched->n, (Numbers{2, 7, static_cast<std::int64_t>(BatchCause::free), 0}));
}

void RequestBatchTest::an_ended_slot_computes_a_row_a_step() {
  Bench bench("static", options_of(4));
  bench.add(3, 2);
  bench.add(7, 4);
  bench.step();
  QCOMPARE(bench.step(), (Ids{1, 2}));  // the answer of 1 ends here
  QCOMPARE(bench.step(), (Ids{2}));
  QCOMPARE(bench.batch.positions, (std::vector<std::int32_t>{8, 4}));
  QCOMPARE(bench.batch.logit_rows, (std::vector<std::int32_t>{0, 1}));  // its logits are computed as well
  QCOMPARE(bench.step(), (Ids{2}));
  QCOMPARE(bench.batch.positions, (std::vector<std::int32_t>{9, 5}));
  QCOMPARE(bench.n_used(), 0);
  QVERIFY(!bench.scheduler.has_work());
}

void RequestBatchTest::padding_and_waste_have_the_counted_numbers() {
  Bench bench("static", options_of(4));
  bench.add(3, 2);
  bench.add(7, 4);
  bench.step();  // 3 and 7 of 16 written: blocks up to 4 and 8 in use
  QCOMPARE(bench.scheduler.occupancy().n_held, 32);
  QCOMPARE(bench.scheduler.occupancy().n_reserved, 12 + 8);
  QCOMPARE(bench.scheduler.occupancy().n_unfilled, 1 + 1);
  bench.step();  // 4 and 8; then the first has ended, and all of its slot is waste
  QCOMPARE(bench.scheduler.occupancy().n_reserved, 16 + 8);
  QCOMPARE(bench.scheduler.occupancy().n_unfilled, 0);
  bench.step();  // 9
  bench.step();  // 10
  const SchedulerCounters& counters = bench.scheduler.counters();
  QCOMPARE(counters.n_padding_tokens, 4U + 1 + 1);
  QCOMPARE(counters.occupancy.n_held, 4 * 32);
  QCOMPARE(counters.occupancy.n_reserved, (12 + 8) + (12 + 8) + (16 + 4) + (16 + 4));
  QCOMPARE(counters.occupancy.n_unfilled, 2 + 0 + 3 + 2);
  QCOMPARE(bench.scheduler.occupancy().n_held, 0);
}

void RequestBatchTest::paged_wastes_only_the_ends_of_blocks() {
  Bench bench("paged", options_of(4));
  bench.add(3, 2);
  bench.add(7, 4);
  for (int i = 0; i < 4; ++i) bench.step();
  const SchedulerCounters& counters = bench.scheduler.counters();
  QCOMPARE(counters.n_padding_tokens, 0U);
  QCOMPARE(counters.occupancy.n_held, 12 + 12 + 12 + 12);
  QCOMPARE(counters.occupancy.n_reserved, 0);
  QCOMPARE(counters.occupancy.n_unfilled, 2 + 0 + 3 + 2);
}

/// Blocks of 4: the first holds 1 beside 2 of the second; when it has ended, the third holds 1 beside 3 of the second.
void RequestBatchTest::a_request_sees_what_all_held_while_it_ran() {
  Bench bench("paged", options_of(2));
  const Sequence& first = bench.add(2, 2);
  const Sequence& second = bench.add(7, 4);
  const Sequence& third = bench.add(1, 1);
  bench.step();
  QCOMPARE(first.peak_blocks, 3);
  QCOMPARE(third.peak_blocks, 0);
  for (int i = 0; i < 4; ++i) bench.step();
  QCOMPARE(first.peak_blocks, 3);
  QCOMPARE(second.peak_blocks, 4);
  QCOMPARE(third.peak_blocks, 4);
  QCOMPARE(bench.n_used(), 0);
}

void RequestBatchTest::a_batch_that_is_longer_than_a_step_is_read_in_pieces() {
  Bench bench("static", options_of(4, 8));
  bench.add(3, 3);
  bench.add(7, 3);
  QCOMPARE(bench.step(), (Ids{1, 2}));
  QCOMPARE(bench.batch.query_start, (std::vector<std::int32_t>{0, 7, 8}));
  QCOMPARE(bench.step(), (Ids{2}));  // the first has its token and waits for the other
  QCOMPARE(bench.batch.n_rows(), 6);
  QCOMPARE(bench.step(), (Ids{1, 2}));
  QCOMPARE(bench.batch.positions, (std::vector<std::int32_t>{3, 7}));
  QCOMPARE(bench.scheduler.counters().n_padding_tokens, 4U);
}

void RequestBatchTest::padding_that_is_left_over_goes_into_the_next_step() {
  Bench bench("static", options_of(4, 5));
  bench.add(3, 3);
  bench.add(7, 3);
  QCOMPARE(bench.step(), (Ids{1}));
  QCOMPARE(bench.batch.positions, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  QCOMPARE(bench.step(), (Ids{2}));
  QCOMPARE(bench.batch.positions, (std::vector<std::int32_t>{0, 1, 2, 5, 6}));  // the padding of 1 comes behind
  QVERIFY(bench.batch.logit_rows.empty());
  QCOMPARE(bench.step(), (Ids{2}));
  QCOMPARE(bench.batch.positions, (std::vector<std::int32_t>{3, 4, 5, 6}));
  QCOMPARE(bench.scheduler.counters().n_padding_tokens, 4U);
}

void RequestBatchTest::without_chunks_a_padded_prompt_stays_whole() {
  SchedulerOptions options = options_of(4, 8);
  options.chunked_prefill = false;
  Bench bench("static", options);
  bench.add(3, 3);
  bench.add(7, 3);
  QCOMPARE(bench.step(), (Ids{1}));
  QCOMPARE(bench.batch.n_rows(), 7);
  QCOMPARE(bench.step(), (Ids{2}));
  QCOMPARE(bench.batch.n_rows(), 7);
}

void RequestBatchTest::nobody_joins_a_static_batch() {
  Bench bench("static", options_of(4));
  bench.add(3, 4);
  bench.step();
  bench.add(3, 1);
  bench.add(5, 1);
  QCOMPARE(bench.step(), (Ids{1}));
  QCOMPARE(bench.step(), (Ids{1}));
  QCOMPARE(bench.event_of(2, Kind::waiting_batch)->n, (Numbers{1, 1, 0, 0}));
  QVERIFY(bench.event_of(3, Kind::waiting_batch) != nullptr);
  QCOMPARE(bench.event_of(2, Kind::admitted), nullptr);
  QCOMPARE(bench.step(), (Ids{1}));
  QCOMPARE(bench.step(), (Ids{2, 3}));
  const auto told = std::count_if(bench.scheduler.events().begin(), bench.scheduler.events().end(),
                                  [](const SchedulerEvent& event) { return event.kind == Kind::waiting_batch; });
  QCOMPARE(told, 2);  // each of them once
}

void RequestBatchTest::a_cancelled_member_becomes_padding() {
  Bench bench("static", options_of(4));
  bench.add(3, 5);
  Sequence& victim = bench.add(4, 5);
  bench.step();
  bench.step();
  bench.scheduler.remove(victim);
  QVERIFY(victim.table.blocks.empty());
  QCOMPARE(bench.n_used(), 8);  // the slot stays
  QCOMPARE(bench.step(), (Ids{1}));
  QCOMPARE(bench.n_padding, 1);
  QCOMPARE(bench.batch.positions, (std::vector<std::int32_t>{4, 5}));
  bench.step();
  bench.step();
  QCOMPARE(bench.n_used(), 0);
}

void RequestBatchTest::a_member_that_is_cancelled_while_reading_becomes_padding() {
  Bench bench("static", options_of(4, 8));
  bench.add(7, 2);
  Sequence& victim = bench.add(7, 5);
  bench.step();
  QCOMPARE(victim.n_computed, 1);
  bench.scheduler.remove(victim);
  QVERIFY(bench.step().empty());  // nothing but padding: the shape stays
  QCOMPARE(bench.batch.positions, (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
  QCOMPARE(bench.step(), (Ids{1}));
  QCOMPARE(bench.n_padding, 1);
  QCOMPARE(bench.n_used(), 0);
}

void RequestBatchTest::a_batch_without_members_ends_at_once() {
  Bench bench("static", options_of(4));
  Sequence& one = bench.add(3, 9);
  Sequence& other = bench.add(3, 9);
  bench.step();
  bench.add(2, 1);
  bench.scheduler.remove(one);
  bench.scheduler.remove(other);
  QCOMPARE(bench.n_used(), 0);
  QCOMPARE(bench.step(), (Ids{3}));
}

void RequestBatchTest::padding_at_the_end_of_the_context_stays_there() {
  Bench bench("static", options_of(4));
  bench.add(13, 2);
  bench.add(1, 8);
  for (int i = 0; i < 8; ++i) bench.step();
  QCOMPARE(bench.batch.positions, (std::vector<std::int32_t>{7, 15}));
  QCOMPARE(bench.n_used(), 0);
}

void RequestBatchTest::dynamic_starts_when_enough_wait() {
  SchedulerOptions options = options_of(4);
  options.preferred_batch_size = 2;
  Bench bench("dynamic", options);
  bench.add(3, 2);
  QVERIFY(bench.step().empty());
  QCOMPARE(bench.scheduler.wake_ns(), 50 * kMs);
  QCOMPARE(bench.event_of(1, Kind::waiting_fill)->n, (Numbers{1, 2, 50, 0}));
  bench.now_ms = 10;
  bench.add(3, 2);
  QCOMPARE(bench.step(), (Ids{1, 2}));
  QCOMPARE(bench.event_of(2, Kind::batched)->n, (Numbers{2, 3, static_cast<std::int64_t>(BatchCause::full), 10}));
}

void RequestBatchTest::dynamic_starts_when_the_first_has_waited_long_enough() {
  Bench bench("dynamic", options_of(4));
  bench.add(3, 2);
  bench.now_ms = 30;
  bench.add(3, 2);
  QVERIFY(bench.step().empty());
  bench.now_ms = 49;
  QVERIFY(bench.step().empty());
  bench.now_ms = 50;
  QCOMPARE(bench.step(), (Ids{1, 2}));
  QCOMPARE(bench.event_of(1, Kind::batched)->n, (Numbers{2, 3, static_cast<std::int64_t>(BatchCause::delay), 50}));
}

void RequestBatchTest::the_delay_counts_from_the_arrival() {
  Bench bench("dynamic", options_of(2));
  bench.add(3, 2);
  bench.add(3, 2);
  bench.step();  // full
  bench.now_ms = 20;
  bench.add(3, 2);
  bench.now_ms = 60;
  bench.step();  // the batch ends, and the third has waited for 40 ms behind it
  QVERIFY(bench.step().empty());
  QCOMPARE(bench.scheduler.wake_ns(), 70 * kMs);
  bench.now_ms = 70;
  QCOMPARE(bench.step(), (Ids{3}));
}

void RequestBatchTest::a_full_batch_is_no_more_than_fits() {
  Bench bench("dynamic", options_of(8), 13);  // three reservations of 4 blocks
  for (int i = 0; i < 4; ++i) bench.add(3, 2);
  QCOMPARE(bench.step(), (Ids{1, 2, 3}));
  QCOMPARE(bench.event_of(4, Kind::waiting_reservation)->n, (Numbers{4, 1, 3, 8}));
}

void RequestBatchTest::a_delay_of_zero_waits_for_nobody() {
  SchedulerOptions options = options_of(4);
  options.max_batch_delay_ns = 0;
  Bench bench("dynamic", options);
  bench.add(3, 2);
  QCOMPARE(bench.step(), (Ids{1}));
}

void RequestBatchTest::continuous_reserves_in_one_piece_and_waits_for_room() {
  Bench bench("continuous", options_of(8), 13);
  bench.add(3, 2);
  bench.add(3, 6);
  bench.add(3, 6);
  bench.add(3, 6);
  QCOMPARE(bench.step(), (Ids{1, 2, 3}));
  QCOMPARE(bench.sequences[1].table.blocks, (std::vector<std::int32_t>{4, 5, 6, 7}));
  QCOMPARE(bench.event_of(4, Kind::waiting_reservation)->n, (Numbers{4, 1, 3, 8}));
  QCOMPARE(bench.step(), (Ids{1, 2, 3}));  // 1 ends
  QCOMPARE(bench.step(), (Ids{2, 3, 4}));
  QCOMPARE(bench.sequences[3].table.blocks, (std::vector<std::int32_t>{0, 1, 2, 3}));
  QCOMPARE(bench.scheduler.counters().n_preemptions, 0U);
  QCOMPARE(bench.scheduler.counters().n_padding_tokens, 0U);
}

void RequestBatchTest::a_reservation_shares_no_prefix() {
  for (const char* policy : {"continuous", "static", "dynamic"}) {
    SchedulerOptions options = options_of(1);
    Bench bench(policy, options);
    bench.add(9, 1);
    Sequence& again = bench.add(9, 1);
    bench.step();
    QCOMPARE(bench.step(), (Ids{2}));
    QCOMPARE(again.n_cached, 0);
    QCOMPARE(bench.scheduler.cache().pool().n_cached(), 0);
    QCOMPARE(bench.scheduler.counters().n_prefix_queries, 0U);
  }
}

LATHE_TEST(RequestBatchTest)

}  // namespace request_batch_test
#include "request_batch_test.moc"
