// SPDX-License-Identifier: Apache-2.0
// Scheduler: decides which sequence computes how many tokens in the next step, and records why. It is the mechanism; a
// policy makes the decisions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/scheduler_event.h"
#include "engine/cache/cache_occupancy.h"
#include "engine/cache/paged_cache.h"
#include "engine/schedule/batch_builder.h"
#include "engine/schedule/policies.h"
#include "engine/schedule/prompt_pace.h"
#include "engine/schedule/request_batch.h"
#include "engine/schedule/sequence.h"
#include "engine/schedule/snapshot_rule.h"

namespace lathe::engine {

struct SchedulerOptions {
  int max_num_seqs = 16;
  int max_num_batched_tokens = 512;  ///< token budget of a step
  int max_logit_rows = 16;           ///< rows of a step that may have logits. Requires: >= max_num_seqs
  bool chunked_prefill = true;
  /// Target time of a step with running answers, for which prompts are cut into chunks; 0: chunks as large as fit.
  std::int64_t target_itl_ns = 0;
  /// Tokens of the longest sequence: sizes the plan's memory once, and is the reservation of policies that reserve the
  /// context.
  std::int64_t max_seq_tokens = 0;
  int preferred_batch_size = 0;         ///< waiting requests that start a batch at once; 0: max_num_seqs
  std::int64_t max_batch_delay_ns = 0;  ///< time after the first waiting request's arrival until a smaller batch starts
};

/// One sequence's part of a step.
struct PlannedSequence {
  Sequence* sequence = nullptr;
  int n_tokens = 0;     ///< rows, beginning at token sequence->n_computed
  int n_padding = 0;    ///< rows of padding after them
  int first_logit = 0;  ///< the sequence's rows of logits are [first_logit, first_logit + n_logits)
  int n_logits = 0;
  bool samples = false;  ///< the last row of logits gives the next token; those before it belong to the prompt
};

/// Rows of padding of a slot that has no PlannedSequence in this step.
struct PlannedPadding {
  const BlockTable* table = nullptr;
  int begin = 0, n_rows = 0;
  bool has_logits = false;  ///< for the last row; these logits follow those of the entries
};

/// Reused from step to step. The rows of the entries come first, then those of the padding.
struct StepPlan {
  BatchBuilder builder;
  std::vector<PlannedSequence> entries;
  std::vector<PlannedPadding> padding;
  int n_prefill_tokens = 0, n_decode_tokens = 0, n_padding_tokens = 0;
  int n_jumped_tokens = 0;  ///< forced tokens of answers, in addition to one token of each in n_decode_tokens

  const BatchPlan& batch() const { return builder.plan(); }
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

/// Owns: the cache's bookkeeping; not the sequences, which must outlive their time in the scheduler. Invariant
/// (is_consistent()): the references of every block equal the tables that hold it. The oldest sequence always makes
/// progress, so no sequence that the pool can hold waits forever. Under a policy that reserves the context, a running
/// sequence holds blocks for max_seq_tokens from its admission to its end.
/// Thread: the engine's.
class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, const PolicyDescriptor& policy, PagedCache cache);

  // ---- calls of the engine loop, in this order
  /// Appends a sequence to the queue. Requires: tokens not empty and few enough for the pool.
  void add(Sequence& sequence, std::int64_t now_ns);
  /// Plans the next step; valid until the next call. The plan has no rows only if no sequence runs or waits, or if the
  /// policy waits: then wake_ns() says until when.
  StepPlan& plan(std::int64_t now_ns);
  /// Records that the rows of an entry are computed: their full blocks can be shared.
  void commit(const PlannedSequence& entry);
  /// Records how long the whole step took.
  void note_step_time(std::int64_t took_ns);
  /// Removes a sequence in any state and gives back its blocks. With `retract`, blocks that it computed are no longer
  /// shared.
  void remove(Sequence& sequence, bool retract = false);

  // ---- what a policy reads and does, inside plan()
  std::span<Sequence* const> running() const { return running_; }  ///< oldest admission first
  Sequence* first_waiting() const { return waiting_.front(); }
  int budget() const { return budget_; }  ///< tokens left in this step
  /// Tokens of the sequence that fit into the rest of the step; 0: none.
  int chunk_of(const Sequence& sequence) const;
  bool may_split_prompts() const { return options_.chunked_prefill; }
  /// Reserves blocks for the first n_tokens of a running sequence. False: too few are available.
  bool reserve(Sequence& sequence, std::int64_t n_tokens);
  /// Moves the first waiting sequence to the running ones, with blocks for its tokens, those from the prefix cache included.
  /// False: it must wait, and the reason is recorded.
  bool admit_first();
  /// Recompute preemption of the last admitted sequence: its blocks are given back, and it waits at the front of the queue.
  Sequence& preempt_last();
  /// Puts n_tokens of a running sequence into the step, and rows of padding after them. Requires: blocks reserved for both.
  void schedule(Sequence& sequence, int n_tokens, int n_padding = 0);

  // ---- moves of policies that batch by request
  RequestBatch& batch() { return batch_; }
  /// Admits waiting requests, in order, as long as they fit, into a new batch. Requires: no sequence runs, at least one
  /// waits.
  void start_batch(BatchCause cause);
  /// Records, for requests that arrived since the batch began, that they wait for its end.
  void wait_for_batch();
  /// Lets all requests wait until a batch begins: with `n_wanted` of them, or at `deadline_ns`.
  void wait_to_fill(int n_wanted, std::int64_t deadline_ns);
  /// Requests of a full batch: preferred_batch_size, but no more than fit.
  int full_batch() const;
  std::int64_t max_batch_delay_ns() const { return options_.max_batch_delay_ns; }
  std::int64_t now_ns() const { return now_ns_; }
  /// Puts rows of padding after the end of a prompt into the step.
  void pad_prompt(const BatchSlot& slot, int n_rows);
  /// Puts one row of padding with logits after an ended answer into the step.
  void pad_answer(BatchSlot& slot);

  // ---- read access
  const SequenceQueue& waiting() const { return waiting_; }
  const PagedCache& cache() const { return cache_; }
  const SchedulerCounters& counters() const { return counters_; }
  const RequestBatch& batch() const { return batch_; }
  /// Occupancy after the last committed step.
  CacheOccupancy occupancy() const;
  /// The time at which the next plan has rows even if no request arrives until then. Requires: the last plan had none, and a
  /// request waits.
  std::int64_t wake_ns() const { return wake_ns_; }
  std::uint64_t step() const { return step_; }
  bool has_work() const { return !running_.empty() || waiting_.size() > 0; }

  /// Records an event of this step, also for decisions of the engine loop (finished, cancelled, failed).
  void record(const Sequence& sequence, SchedulerEventKind kind, std::array<std::int64_t, 4> n, std::int64_t time_ns);
  /// Events since the last clear_events(), oldest first; their event numbers are still 0.
  std::span<const SchedulerEvent> events() const { return events_; }
  void clear_events() { events_.clear(); }

 private:
  /// Prompt tokens that the pace allows in the step, whatever its budget.
  int paced_prompt_tokens() const;
  int chunk_from(const Sequence& sequence, int begin) const;
  /// Rows that a running answer may have for its last token and those forced behind it.
  int jump_rows() const;
  int prompt_logits_in(const Sequence& sequence, int begin, int end) const;
  int peak_blocks(std::int64_t n_tokens) const;
  /// Tokens for which an admitted sequence gets blocks: all of its tokens, or those of the first step if blocks are freed
  /// after a window.
  std::int64_t n_to_reserve(const Sequence& sequence) const;
  /// Available blocks beyond the one that is kept for each running sequence.
  int block_slack() const;
  /// True if nothing relevant has changed since the sequence had to wait: a long prompt need not be looked up in every step.
  bool still_must_wait(const Sequence& sequence) const;
  bool must_wait(Sequence& sequence, const PrefixMatch& match);
  /// Records the reason for each waiting sequence that has another one. The newest are at the back, so the search ends at
  /// the first sequence that already has the reason.
  void report_waiting(WaitReason reason, SchedulerEventKind kind, std::array<std::int64_t, 4> n);
  void end_batch();
  void account_admission(Sequence& sequence, int n_found);
  void account_room();
  void note_evictions(const Sequence& sequence);
  void take_snapshots(Sequence& sequence, int end);
  void build_batch();
  void add_rows(PlannedSequence& entry);

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
  int prompt_budget_ = 0;  ///< prompt tokens that the pace still allows
  int logit_budget_ = 0;
  int n_unplanned_ = 0;  ///< running sequences not yet in the step; one row of logits is kept for each
};

}  // namespace lathe::engine
