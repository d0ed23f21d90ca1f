// SPDX-License-Identifier: Apache-2.0
// Scheduler: who computes how many tokens in the next step, and why. The mechanism; a policy makes the choices.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/scheduler_event.h"
#include "engine/cache/cache_occupancy.h"
#include "engine/cache/paged_cache.h"
#include "engine/schedule/batch_plan.h"
#include "engine/schedule/policies.h"
#include "engine/schedule/prompt_pace.h"
#include "engine/schedule/request_batch.h"
#include "engine/schedule/sequence.h"

namespace lathe::engine {

struct SchedulerOptions {
  int max_num_seqs = 16;
  int max_num_batched_tokens = 512;  ///< the budget of a step
  int max_logit_rows = 16;           ///< rows of a step whose logits can be had. Requires: >= max_num_seqs
  bool chunked_prefill = true;
  std::int64_t target_itl_ns = 0;  ///< prompts beside running answers are cut into chunks for it; 0: as large as fit
  /// The longest sequence: sizes the plan's memory once and for all, and is what policies reserve that reserve the context.
  std::int64_t max_seq_tokens = 0;
  int preferred_batch_size = 0;         ///< waiting ones that start a batch at once; 0: max_num_seqs
  std::int64_t max_batch_delay_ns = 0;  ///< after the arrival of the first that waits a smaller batch starts
};

/// One sequence's part of a step.
struct PlannedSequence {
  Sequence* sequence = nullptr;
  int n_tokens = 0;     ///< rows, beginning at token number sequence->n_computed
  int n_padding = 0;    ///< rows behind those, computed for nobody
  int first_logit = 0;  ///< its rows of logits are [first_logit, first_logit + n_logits)
  int n_logits = 0;
  bool samples = false;  ///< the last of them gives the next token; the ones before belong to the prompt
};

/// Rows of a slot that nobody wants, where no entry carries them.
struct PlannedPadding {
  const BlockTable* table = nullptr;
  int begin = 0, n_rows = 0;
  bool has_logits = false;  ///< of its last row; they come after those of the entries
};

/// Reused from step to step. The rows of the entries come first, then those of the padding.
struct StepPlan {
  BatchPlan batch;
  std::vector<PlannedSequence> entries;
  std::vector<PlannedPadding> padding;
  int n_prefill_tokens = 0, n_decode_tokens = 0, n_padding_tokens = 0;
};

struct SchedulerCounters {
  std::uint64_t n_prompt_tokens = 0;
  std::uint64_t n_preemptions = 0;
  std::uint64_t n_recomputed_tokens = 0;
  std::uint64_t n_prefix_queries = 0;
  std::uint64_t n_prefix_hits = 0;
  std::uint64_t n_padding_tokens = 0;
  CacheOccupancy occupancy;  ///< summed over the steps
};

/// Owns: the cache's book-keeping; not the sequences, which must outlive their time in here.
/// Invariant (consistent()): the references of every block equal the tables that hold it. The oldest sequence always makes
/// progress, so nothing that the pool can hold waits forever. Under a policy that reserves the context, a running sequence
/// holds blocks for max_seq_tokens from its admission to its end.
/// Thread: the engine's.
class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, const PolicyDescriptor& policy, PagedCache cache);

  // ---- what the engine loop calls, in this order
  /// To the end of the queue. Requires: tokens not empty and few enough for the pool.
  void add(Sequence& sequence, std::int64_t now_ns);
  /// The next step, valid until the next call. Without rows only when nothing runs or waits, or when the policy waits:
  /// then wake_ns() says how long.
  StepPlan& plan(std::int64_t now_ns);
  /// The rows of an entry are computed: their full blocks can be shared.
  void commit(const PlannedSequence& entry);
  /// The step took that long, all in all.
  void note_step_time(std::int64_t took_ns) { pace_.note_step(plan_.n_prefill_tokens, plan_.n_decode_tokens, took_ns); }
  /// Takes a sequence out, wherever it is, and its blocks back. With `retract`, what it computed is not shared any more.
  void remove(Sequence& sequence, bool retract = false);

  // ---- what a policy may look at and do, inside plan()
  std::span<Sequence* const> running() const { return running_; }  ///< oldest admission first
  Sequence* first_waiting() const { return waiting_.front(); }
  int budget() const { return budget_; }  ///< tokens left in this step
  /// Tokens of the sequence that fit into what is left of the step; 0: none.
  int chunk_of(const Sequence& sequence) const;
  bool may_split_prompts() const { return options_.chunked_prefill; }
  /// Finds blocks for the first n_tokens of a running sequence. False: too few are available.
  bool reserve(Sequence& sequence, std::int64_t n_tokens);
  /// Puts the first waiting sequence into the running ones, with blocks for all its tokens and what the prefix cache has of
  /// them. False: it must wait, and the reason is told.
  bool admit_first();
  /// Recompute preemption of the last admitted: its blocks come back, and it waits at the front.
  Sequence& preempt_last();
  /// Puts n_tokens of a running sequence into the step, and rows behind them that nobody wants. Requires: blocks reserved
  /// for both.
  void schedule(Sequence& sequence, int n_tokens, int n_padding = 0);

  // ---- and what a policy does that batches by the request
  RequestBatch& batch() { return batch_; }
  /// Admits waiting ones, in order, as long as there is room, into a new batch. Requires: nothing runs, somebody waits.
  void start_batch(BatchCause cause);
  /// Tells those who came meanwhile that they wait for the batch to end.
  void wait_for_batch();
  /// Lets everybody wait until a batch begins: with `n_wanted` of them, or at `deadline_ns`.
  void wait_to_fill(int n_wanted, std::int64_t deadline_ns);
  /// Waiting ones with which a batch is full: what was preferred, but no more than fit.
  int full_batch() const;
  std::int64_t max_batch_delay_ns() const { return options_.max_batch_delay_ns; }
  std::int64_t now_ns() const { return now_ns_; }
  /// Puts rows behind the end of a prompt into the step.
  void pad_prompt(const BatchSlot& slot, int n_rows);
  /// Puts one row with logits behind an answer that has ended into the step.
  void pad_answer(BatchSlot& slot);

  // ---- what others may see
  const SequenceQueue& waiting() const { return waiting_; }
  const PagedCache& cache() const { return cache_; }
  const SchedulerCounters& counters() const { return counters_; }
  const RequestBatch& batch() const { return batch_; }
  /// As the last committed step left it.
  CacheOccupancy occupancy() const;
  /// When the next plan has rows even if nothing comes until then. Requires: the last plan had none, and somebody waits.
  std::int64_t wake_ns() const { return wake_ns_; }
  std::uint64_t step() const { return step_; }
  bool has_work() const { return !running_.empty() || waiting_.size() > 0; }
  bool consistent() const;

  /// Notes an event of this step. Also for what the engine loop decides (finished, cancelled, failed).
  void record(const Sequence& sequence, SchedulerEventKind kind, std::array<std::int64_t, 4> n, std::int64_t time_ns);
  /// What was noted since the last clear_events(), oldest first; event numbers are still 0.
  std::span<const SchedulerEvent> events() const { return events_; }
  void clear_events() { events_.clear(); }

 private:
  /// Prompt tokens that the step may read, whatever its budget.
  int paced_prompt_tokens() const;
  int chunk_from(const Sequence& sequence, int begin) const;
  int prompt_logits_in(const Sequence& sequence, int begin, int end) const;
  int peak_blocks(std::int64_t n_tokens) const;
  /// Tokens that an admitted sequence gets blocks for: all that it has, or where blocks are given back behind a window those
  /// of the first step.
  std::int64_t n_to_reserve(const Sequence& sequence) const;
  /// Blocks that are available beyond the one kept for each running sequence.
  int block_slack() const;
  /// Nothing has changed for the better since it was told to wait: a long prompt need not be looked up in every step.
  bool still_must_wait(const Sequence& sequence) const;
  bool must_wait(Sequence& sequence, const PrefixMatch& match);
  /// Tells each that was not told yet why it waits. The newest are at the back, so the others are not looked at.
  void report_waiting(WaitReason reason, SchedulerEventKind kind, std::array<std::int64_t, 4> n);
  void end_batch();
  void account_admission(Sequence& sequence, int n_found);
  void account_room();
  void note_evictions(const Sequence& sequence);
  bool consistent_window(std::size_t i) const;
  void build_batch();
  void append_rows(PlannedSequence& entry);
  void append_row(std::int32_t token_id, int position, const BlockTable& table);
  std::int32_t slot_of(const BlockRow& row, int position) const;
  void append_padding(const PlannedPadding& padding);
  void append_block_tables(const BlockTable& table, int n_tokens);
  void append_block_row(const BlockRow& row, int n_blocks, std::vector<std::int32_t>& block_tables) const;

  SchedulerOptions options_;
  const PolicyDescriptor* policy_;
  PagedCache cache_;
  SequenceQueue waiting_;
  std::vector<Sequence*> running_;
  RequestBatch batch_;
  PromptPace pace_;
  StepPlan plan_;
  std::vector<SchedulerEvent> events_;
  SchedulerCounters counters_;
  std::uint64_t step_ = 0;
  std::int64_t now_ns_ = 0;
  std::int64_t wake_ns_ = 0;
  bool forms_batch_ = false;
  int budget_ = 0;
  int prompt_budget_ = 0;  ///< what the pace leaves to prompts
  int logit_budget_ = 0;
  int n_unplanned_ = 0;  ///< running ones that are not yet in the step; a row of logits is kept for each
};

}  // namespace lathe::engine
