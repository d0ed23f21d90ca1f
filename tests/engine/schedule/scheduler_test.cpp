// SPDX-License-Identifier: Apache-2.0
// The paged policy step by step, without a model.
#include <QObject>
#include <QtTest>

#include <deque>
#include <numeric>

#include "engine/schedule/scheduler.h"
#include "engine/schedule/scheduler_invariant.h"
#include "kernels/api/check.h"
#include "tests/support/test_class.h"

namespace scheduler_test {

using namespace lathe::engine;

namespace {

/// A scheduler, its sequences, and a model that always answers with the number of the token.
struct Bench {
  explicit Bench(const SchedulerOptions& options, int n_blocks = 64, int block_size = 4, bool share = true)
      : scheduler(options, *policy_table().front(), PagedCache(n_blocks, block_size, share)) {}

  Sequence& add(int n_prompt, std::int32_t first_token = 0) {
    Sequence& sequence = sequences.emplace_back();
    sequence.id = sequences.size();
    sequence.tokens.resize(static_cast<std::size_t>(n_prompt));
    std::iota(sequence.tokens.begin(), sequence.tokens.end(), first_token);
    sequence.n_prompt = n_prompt;
    scheduler.add(sequence, 0);
    return sequence;
  }

  /// One step that takes so long; the rows of each sequence in it, in order.
  std::vector<std::pair<std::uint64_t, int>> step(std::int64_t took_ms = 1) {
    std::vector<std::pair<std::uint64_t, int>> rows;
    StepPlan& plan = scheduler.plan(0);
    last_batch = plan.batch();
    for (const PlannedSequence& entry : plan.entries) {
      rows.emplace_back(entry.sequence->id, entry.n_tokens);
      scheduler.commit(entry);
      if (entry.samples) entry.sequence->tokens.push_back(entry.sequence->n_tokens());
    }
    scheduler.note_step_time(took_ms * 1'000'000);
    LATHE_CHECK(is_consistent(scheduler));
    return rows;
  }

  /// Appends `n` tokens behind the sampled one.
  static void force(Sequence& sequence, int n) {
    for (int i = 0; i < n; ++i) sequence.tokens.push_back(sequence.n_tokens());
    sequence.n_jumped = n;
  }

  std::vector<SchedulerEventKind> events_of(std::uint64_t id) const {
    std::vector<SchedulerEventKind> kinds;
    for (const SchedulerEvent& event : scheduler.events()) {
      if (event.request_id == id) kinds.push_back(event.kind);
    }
    return kinds;
  }

  Scheduler scheduler;
  std::deque<Sequence> sequences;
  BatchPlan last_batch;
};

using Rows = std::vector<std::pair<std::uint64_t, int>>;
using Kinds = std::vector<SchedulerEventKind>;
using Kind = SchedulerEventKind;

SchedulerOptions options_of(int max_num_seqs, int budget, int max_logit_rows = 64) {
  return {.max_num_seqs = max_num_seqs, .max_num_batched_tokens = budget, .max_logit_rows = max_logit_rows};
}

}  // namespace

class SchedulerTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void a_prompt_that_fits_is_read_in_one_step();
  void a_long_prompt_is_read_in_chunks_of_the_budget();
  void decodes_come_before_prompts();
  void the_rest_of_the_budget_goes_to_the_next_prompt();
  void beside_answers_a_prompt_comes_in_chunks_for_the_target();
  void a_prompt_alone_is_not_held_back();
  void prompts_share_what_the_target_leaves();
  void first_come_first_served();
  void max_num_seqs_holds();
  void nobody_is_admitted_without_blocks();
  void one_block_is_kept_for_each_running_sequence();
  void the_last_admitted_is_preempted();
  void a_preempted_sequence_waits_at_the_front();
  void a_resumed_sequence_finds_its_blocks_again();
  void without_chunked_prefill_a_prompt_waits_for_a_whole_step();
  void without_chunked_prefill_a_grown_sequence_can_still_return();
  void rows_know_their_positions_slots_and_tables();
  void logits_of_a_prompt_are_given_in_pieces();
  void prompt_logits_leave_a_row_to_every_other_sequence();
  void a_prompt_with_logits_is_not_taken_from_the_cache();
  void equal_prompts_in_one_step_end_up_sharing();
  void removing_gives_all_blocks_back();
  void a_waiting_reason_is_told_once();
  void events_tell_the_story_of_a_request();
  void counters_separate_first_work_from_repeated_work();
  void forced_tokens_are_rows_of_a_running_answer();
  void forced_tokens_leave_a_row_to_every_other_answer();
  void forced_tokens_of_a_preempted_answer_are_read_as_a_prompt();
};

void SchedulerTest::a_prompt_that_fits_is_read_in_one_step() {
  Bench bench(options_of(4, 16));
  bench.add(10);
  QCOMPARE(bench.step(), (Rows{{1, 10}}));
  QCOMPARE(bench.step(), (Rows{{1, 1}}));
}

void SchedulerTest::a_long_prompt_is_read_in_chunks_of_the_budget() {
  Bench bench(options_of(4, 16));
  bench.add(40);
  QCOMPARE(bench.step(), (Rows{{1, 16}}));
  QVERIFY(bench.last_batch.logit_rows.empty());
  QCOMPARE(bench.step(), (Rows{{1, 16}}));
  QCOMPARE(bench.step(), (Rows{{1, 8}}));
  QCOMPARE(bench.last_batch.logit_rows, std::vector<std::int32_t>{7});
}

void SchedulerTest::decodes_come_before_prompts() {
  Bench bench(options_of(4, 16));
  bench.add(4);
  bench.step();
  bench.add(40, 100);
  QCOMPARE(bench.step(), (Rows{{1, 1}, {2, 15}}));
}

void SchedulerTest::the_rest_of_the_budget_goes_to_the_next_prompt() {
  Bench bench(options_of(4, 16));
  bench.add(10);
  bench.add(10, 100);
  bench.add(10, 200);
  QCOMPARE(bench.step(), (Rows{{1, 10}, {2, 6}}));
  QCOMPARE(bench.step(), (Rows{{1, 1}, {2, 4}, {3, 10}}));
}

void SchedulerTest::beside_answers_a_prompt_comes_in_chunks_for_the_target() {
  SchedulerOptions options = options_of(4, 64);
  options.target_itl_ns = 100'000'000;
  Bench bench(options);
  bench.add(32);
  QCOMPARE(bench.step(200), (Rows{{1, 32}}));  // so 16 tokens take 100 ms
  bench.add(60, 100);
  QCOMPARE(bench.step(50), (Rows{{1, 1}, {2, 16}}));
  QCOMPARE(bench.step(100), (Rows{{1, 1}, {2, 32}}));
  QCOMPARE(bench.step(60), (Rows{{1, 1}, {2, 12}}));
  QCOMPARE(bench.events_of(2), (Kinds{Kind::queued, Kind::admitted, Kind::paced, Kind::chunked}));
  for (const SchedulerEvent& event : bench.scheduler.events()) {
    if (event.kind != Kind::paced) continue;
    QCOMPARE(sentence_of(event), std::string("32 tokens, so that the wait of 1 answer stays within 100 ms; 12 left."));
  }
}

void SchedulerTest::a_prompt_alone_is_not_held_back() {
  SchedulerOptions options = options_of(4, 64);
  options.target_itl_ns = 1'000'000;
  Bench bench(options);
  bench.add(100);
  QCOMPARE(bench.step(1'000), (Rows{{1, 64}}));
  QCOMPARE(bench.step(1'000), (Rows{{1, 36}}));
}

void SchedulerTest::prompts_share_what_the_target_leaves() {
  SchedulerOptions options = options_of(4, 64);
  options.target_itl_ns = 100'000'000;
  Bench bench(options);
  bench.add(32);
  bench.step(200);
  bench.add(10, 100);
  bench.add(10, 200);
  bench.add(10, 300);
  QCOMPARE(bench.step(100), (Rows{{1, 1}, {2, 10}, {3, 6}}));
  QCOMPARE(bench.events_of(4), (Kinds{Kind::queued, Kind::waiting}));
  QCOMPARE(bench.step(100), (Rows{{1, 1}, {2, 1}, {3, 4}, {4, 10}}));
}

void SchedulerTest::first_come_first_served() {
  Bench bench(options_of(4, 64), 12);
  bench.add(20);
  bench.step();
  bench.add(40, 100);  // does not fit beside the first
  bench.add(4, 200);   // would, but has to wait its turn
  QCOMPARE(bench.step(), (Rows{{1, 1}}));
  bench.scheduler.remove(bench.sequences[0]);
  QCOMPARE(bench.step(), (Rows{{2, 40}, {3, 4}}));
}

void SchedulerTest::max_num_seqs_holds() {
  Bench bench(options_of(2, 16));
  for (int i = 0; i < 3; ++i) bench.add(3, 100 * i);
  QCOMPARE(bench.step(), (Rows{{1, 3}, {2, 3}}));
  QCOMPARE(bench.scheduler.waiting().size(), 1);
}

void SchedulerTest::nobody_is_admitted_without_blocks() {
  Bench bench(options_of(4, 64), 8);
  bench.add(20);
  bench.add(20, 100);
  QCOMPARE(bench.step(), (Rows{{1, 20}}));
  QCOMPARE(bench.events_of(2), (Kinds{Kind::queued, Kind::waiting}));
}

void SchedulerTest::one_block_is_kept_for_each_running_sequence() {
  Bench bench(options_of(4, 64), 8);
  bench.add(16);  // four blocks, full: the next token needs a fifth
  bench.step();
  bench.add(12, 100);
  QCOMPARE(bench.step(), (Rows{{1, 1}}));  // has the fifth; three are left, of which one is kept
  bench.add(8, 200);
  QCOMPARE(bench.step(), (Rows{{1, 1}}));
  bench.scheduler.remove(bench.sequences[1]);
  QCOMPARE(bench.step(), (Rows{{1, 1}, {3, 8}}));
}

void SchedulerTest::the_last_admitted_is_preempted() {
  Bench bench(options_of(4, 64), 6);
  bench.add(7);
  bench.add(7, 100);
  while (bench.sequences[1].n_preemptions == 0) bench.step();
  QCOMPARE(bench.sequences[0].n_preemptions, 0);
  QCOMPARE(bench.sequences[0].state, SequenceState::running);
  QCOMPARE(bench.sequences[1].state, SequenceState::waiting);
  QVERIFY(bench.sequences[1].table.blocks.empty());
  QCOMPARE(bench.sequences[1].n_computed, 0);
  QCOMPARE(bench.scheduler.counters().n_preemptions, 1U);
}

void SchedulerTest::a_preempted_sequence_waits_at_the_front() {
  Bench bench(options_of(2, 64), 6);
  bench.add(7);
  bench.add(7, 100);
  bench.add(7, 200);
  while (bench.sequences[1].n_preemptions == 0) bench.step();
  QCOMPARE(bench.scheduler.first_waiting()->id, 2U);
  QCOMPARE(bench.scheduler.waiting().size(), 2);
}

void SchedulerTest::a_resumed_sequence_finds_its_blocks_again() {
  Bench bench(options_of(2, 64), 6);
  bench.add(7);
  Sequence& victim = bench.add(7, 100);
  while (victim.n_preemptions == 0) bench.step();
  const int n_lost = victim.n_lost;
  bench.scheduler.remove(bench.sequences[0]);
  const Rows rows = bench.step();
  QCOMPARE(rows.size(), 1U);
  QVERIFY2(rows[0].second < n_lost, "nothing came from the prefix cache");
  QCOMPARE(victim.n_recomputed, static_cast<std::int64_t>(rows[0].second - 1));
  const Kinds story = bench.events_of(2);
  QVERIFY(std::find(story.begin(), story.end(), Kind::resumed) != story.end());
}

void SchedulerTest::without_chunked_prefill_a_prompt_waits_for_a_whole_step() {
  SchedulerOptions options = options_of(4, 16);
  options.chunked_prefill = false;
  Bench bench(options);
  bench.add(10);
  bench.add(16, 100);
  QCOMPARE(bench.step(), (Rows{{1, 10}}));
  QCOMPARE(bench.step(), (Rows{{1, 1}}));
  bench.scheduler.remove(bench.sequences[0]);
  QCOMPARE(bench.step(), (Rows{{2, 16}}));
}

void SchedulerTest::without_chunked_prefill_a_grown_sequence_can_still_return() {
  SchedulerOptions options = options_of(2, 16);
  options.chunked_prefill = false;
  Bench bench(options, 12, 4, false);
  bench.add(14);
  Sequence& victim = bench.add(14, 100);
  while (victim.n_preemptions == 0) bench.step();
  const int n_tokens = victim.n_tokens();
  QVERIFY(n_tokens > 16);
  bench.scheduler.remove(bench.sequences[0]);
  QCOMPARE(bench.step(), (Rows{{2, 16}}));
  QCOMPARE(bench.step(), (Rows{{2, n_tokens - 16}}));
}

void SchedulerTest::rows_know_their_positions_slots_and_tables() {
  Bench bench(options_of(4, 16));
  bench.add(6);
  bench.add(3, 100);
  bench.step();
  const BatchPlan& batch = bench.last_batch;
  QCOMPARE(batch.token_ids, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 100, 101, 102}));
  QCOMPARE(batch.positions, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 0, 1, 2}));
  QCOMPARE(batch.query_start, (std::vector<std::int32_t>{0, 6, 9}));
  QCOMPARE(batch.context_len, (std::vector<std::int32_t>{6, 3}));
  QCOMPARE(batch.logit_rows, (std::vector<std::int32_t>{5, 8}));
  QCOMPARE(batch.max_blocks, 2);
  const auto& first = bench.sequences[0].table.blocks;
  const auto& second = bench.sequences[1].table.blocks;
  QCOMPARE(batch.block_tables, (std::vector<std::int32_t>{first[0], first[1], second[0], -1}));
  QCOMPARE(batch.slots[4], first[1] * 4);
  QCOMPARE(batch.slots[8], second[0] * 4 + 2);
}

void SchedulerTest::logits_of_a_prompt_are_given_in_pieces() {
  Bench bench(options_of(4, 16, 5));
  Sequence& sequence = bench.add(12);
  sequence.wants_prompt_logits = true;
  QCOMPARE(bench.step(), (Rows{{1, 5}}));
  QCOMPARE(bench.last_batch.logit_rows, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  QCOMPARE(bench.step(), (Rows{{1, 5}}));
  QCOMPARE(bench.step(), (Rows{{1, 2}}));
  QCOMPARE(bench.last_batch.logit_rows, (std::vector<std::int32_t>{0, 1}));
  QCOMPARE(sequence.n_prompt_logits, 11);
  QCOMPARE(sequence.n_output(), 1);
}

void SchedulerTest::prompt_logits_leave_a_row_to_every_other_sequence() {
  Bench bench(options_of(3, 16, 4));
  bench.add(3);
  Sequence& greedy = bench.add(9, 100);
  greedy.wants_prompt_logits = true;
  QCOMPARE(bench.step(), (Rows{{1, 3}, {2, 3}}));
  QCOMPARE(bench.step(), (Rows{{1, 1}, {2, 3}}));
  QCOMPARE(bench.step(), (Rows{{1, 1}, {2, 3}}));
  QCOMPARE(greedy.n_output(), 1);
}

void SchedulerTest::a_prompt_with_logits_is_not_taken_from_the_cache() {
  Bench bench(options_of(4, 64));
  bench.add(20);
  bench.step();
  Sequence& sequence = bench.add(20);
  sequence.wants_prompt_logits = true;
  QCOMPARE(bench.step(), (Rows{{1, 1}, {2, 20}}));
  QCOMPARE(sequence.n_cached, 0);
}

void SchedulerTest::equal_prompts_in_one_step_end_up_sharing() {
  Bench bench(options_of(4, 64));
  bench.add(10);
  bench.add(10);
  QCOMPARE(bench.step(), (Rows{{1, 10}, {2, 10}}));
  QCOMPARE(bench.sequences[0].table.blocks[1], bench.sequences[1].table.blocks[1]);
  QVERIFY(bench.sequences[0].table.blocks[2] != bench.sequences[1].table.blocks[2]);
}

void SchedulerTest::removing_gives_all_blocks_back() {
  Bench bench(options_of(2, 8));
  for (int i = 0; i < 4; ++i) bench.add(12, 100 * i);
  bench.step();
  bench.step();
  for (Sequence& sequence : bench.sequences) bench.scheduler.remove(sequence);
  QVERIFY(!bench.scheduler.has_work());
  QCOMPARE(bench.scheduler.cache().pool().n_available(), 64);
}

void SchedulerTest::a_waiting_reason_is_told_once() {
  Bench bench(options_of(1, 16));
  bench.add(4);
  bench.add(4, 100);
  for (int i = 0; i < 5; ++i) bench.step();
  QCOMPARE(bench.events_of(2), (Kinds{Kind::queued, Kind::waiting}));
}

void SchedulerTest::events_tell_the_story_of_a_request() {
  Bench bench(options_of(4, 16));
  bench.add(40);
  for (int i = 0; i < 4; ++i) bench.step();
  QCOMPARE(bench.events_of(1), (Kinds{Kind::queued, Kind::admitted, Kind::chunked, Kind::chunked}));
  const auto events = bench.scheduler.events();
  QCOMPARE(sentence_of(events[1]), std::string("0 of 40 prompt tokens cached; first chunk 16."));
  QCOMPARE(sentence_of(events[2]), std::string("16 tokens of a budget of 16; 8 left."));
  QCOMPARE(events[2].step, 2U);
}

void SchedulerTest::counters_separate_first_work_from_repeated_work() {
  Bench bench(options_of(2, 64), 6, 4, false);
  bench.add(7);
  Sequence& victim = bench.add(7, 100);
  while (victim.n_preemptions == 0) bench.step();
  const int n_lost = victim.n_lost;
  bench.scheduler.remove(bench.sequences[0]);
  bench.step();
  QCOMPARE(bench.scheduler.counters().n_prompt_tokens, 14U);
  QCOMPARE(bench.scheduler.counters().n_recomputed_tokens, static_cast<std::uint64_t>(n_lost));
}

void SchedulerTest::forced_tokens_are_rows_of_a_running_answer() {
  Bench bench(options_of(4, 32));
  Sequence& answer = bench.add(4);
  bench.step();
  Bench::force(answer, 5);
  QVERIFY(!answer.in_prefill());
  bench.add(10, 100);
  bench.scheduler.clear_events();
  QCOMPARE(bench.step(), (Rows{{1, 6}, {2, 10}}));
  QCOMPARE(bench.last_batch.logit_rows, (std::vector<std::int32_t>{5, 15}));
  QCOMPARE(bench.events_of(1), Kinds());
  QCOMPARE(answer.n_jumped, 0);
  QCOMPARE(bench.step(), (Rows{{1, 1}, {2, 1}}));
}

void SchedulerTest::forced_tokens_leave_a_row_to_every_other_answer() {
  Bench bench(options_of(3, 12));
  for (int i = 0; i < 3; ++i) bench.add(4, 100 * i);
  bench.step();
  Bench::force(bench.sequences[0], 20);
  QCOMPARE(bench.step(), (Rows{{1, 10}, {2, 1}, {3, 1}}));
  QVERIFY(!bench.sequences[0].in_prefill());
  QCOMPARE(bench.step(), (Rows{{1, 10}, {2, 1}, {3, 1}}));
  QCOMPARE(bench.step(), (Rows{{1, 1}, {2, 1}, {3, 1}}));
}

void SchedulerTest::forced_tokens_of_a_preempted_answer_are_read_as_a_prompt() {
  Bench bench(options_of(2, 32), 6, 4, false);
  Sequence& first = bench.add(10);
  bench.step();
  Sequence& last = bench.add(4, 100);
  bench.step();
  Bench::force(last, 3);
  Bench::force(first, 6);  // needs the block of the last one
  bench.step();
  QCOMPARE(last.state, SequenceState::waiting);
  QCOMPARE(last.n_jumped, 0);
  QVERIFY(last.in_prefill());
}

LATHE_TEST(SchedulerTest)

}  // namespace scheduler_test
#include "scheduler_test.moc"
