// SPDX-License-Identifier: Apache-2.0
// Scheduler: who computes how many tokens in the next step, and why. The mechanism; a policy makes the choices.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/scheduler_event.h"
#include "engine/cache/paged_cache.h"
#include "engine/schedule/batch_plan.h"
#include "engine/schedule/policies.h"
#include "engine/schedule/sequence.h"

namespace lathe::engine {

struct SchedulerOptions {
  int max_num_seqs = 16;
  int max_num_batched_tokens = 512;  ///< the budget of a step
  int max_logit_rows = 16;           ///< rows of a step whose logits can be had. Requires: >= max_num_seqs
  bool chunked_prefill = true;
  std::int64_t max_seq_tokens = 0;  ///< the longest sequence; sizes the plan's memory once and for all
};

/// One sequence's part of a step.
struct PlannedSequence {
  Sequence* sequence = nullptr;
  int n_tokens = 0;     ///< rows, beginning at token number sequence->n_computed
  int first_logit = 0;  ///< its rows of logits are [first_logit, first_logit + n_logits)
  int n_logits = 0;
  bool samples = false;  ///< the last of them gives the next token; the ones before belong to the prompt
};

/// Reused from step to step.
struct StepPlan {
  BatchPlan batch;
  std::vector<PlannedSequence> entries;
  int n_prefill_tokens = 0, n_decode_tokens = 0;
};

struct SchedulerCounters {
  std::uint64_t n_prompt_tokens = 0;
  std::uint64_t n_preemptions = 0;
  std::uint64_t n_recomputed_tokens = 0;
  std::uint64_t n_prefix_queries = 0;
  std::uint64_t n_prefix_hits = 0;
};

/// Owns: the cache's book-keeping; not the sequences, which must outlive their time in here.
/// Invariant (consistent()): the references of every block equal the tables that hold it. The oldest sequence always makes
/// progress, so nothing that the pool can hold waits forever.
/// Thread: the engine's.
class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, const PolicyDescriptor& policy, PagedCache cache);

  // ---- what the engine loop calls, in this order
  /// To the end of the queue. Requires: tokens not empty and few enough for the pool.
  void add(Sequence& sequence, std::int64_t now_ns);
  /// The next step, valid until the next call. Empty only when nothing runs or waits.
  StepPlan& plan(std::int64_t now_ns);
  /// The rows of an entry are computed: their full blocks can be shared.
  void commit(const PlannedSequence& entry);
  /// Takes a sequence out, wherever it is, and its blocks back. With `retract`, what it computed is not shared any more.
  void remove(Sequence& sequence, bool retract = false);

  // ---- what a policy may look at and do, inside plan()
  std::span<Sequence* const> running() const { return running_; }  ///< oldest admission first
  Sequence* first_waiting() const { return waiting_.front(); }
  int budget() const { return budget_; }  ///< tokens left in this step
  /// Tokens of the sequence that fit into what is left of the step; 0: none.
  int chunk_of(const Sequence& sequence) const;
  /// Finds blocks for the first n_tokens of a running sequence. False: too few are available.
  bool reserve(Sequence& sequence, std::int64_t n_tokens);
  /// Puts the first waiting sequence into the running ones, with blocks for all its tokens and what the prefix cache has of
  /// them. False: it must wait, and the reason is told.
  bool admit_first();
  /// Recompute preemption of the last admitted: its blocks come back, and it waits at the front.
  Sequence& preempt_last();
  /// Puts n_tokens of a running sequence into the step. Requires: blocks reserved for them.
  void schedule(Sequence& sequence, int n_tokens);

  // ---- what others may see
  const SequenceQueue& waiting() const { return waiting_; }
  const PagedCache& cache() const { return cache_; }
  const SchedulerCounters& counters() const { return counters_; }
  std::uint64_t step() const { return step_; }
  bool has_work() const { return !running_.empty() || waiting_.size() > 0; }
  bool consistent() const;

  /// Notes an event of this step. Also for what the engine loop decides (finished, cancelled, failed).
  void note(const Sequence& sequence, SchedulerEventKind kind, std::array<std::int64_t, 4> n, std::int64_t time_ns);
  /// What was noted since the last clear_events(), oldest first; event numbers are still 0.
  std::span<const SchedulerEvent> events() const { return events_; }
  void clear_events() { events_.clear(); }

 private:
  int chunk_from(const Sequence& sequence, int begin) const;
  int prompt_logits_in(const Sequence& sequence, int begin, int end) const;
  /// Blocks that are available beyond the one kept for each running sequence.
  int block_slack() const;
  /// Nothing has changed for the better since it was told to wait: a long prompt need not be looked up in every step.
  bool still_must_wait(const Sequence& sequence) const;
  bool must_wait(Sequence& sequence, const PrefixMatch& match);
  void account_admission(Sequence& sequence, int n_found);
  void note_evictions(const Sequence& sequence);
  void build_batch();
  void append_rows(PlannedSequence& entry);
  void append_block_table(const PlannedSequence& entry);

  SchedulerOptions options_;
  const PolicyDescriptor* policy_;
  PagedCache cache_;
  SequenceQueue waiting_;
  std::vector<Sequence*> running_;
  StepPlan plan_;
  std::vector<SchedulerEvent> events_;
  SchedulerCounters counters_;
  std::uint64_t step_ = 0;
  std::int64_t now_ns_ = 0;
  int budget_ = 0;
  int logit_budget_ = 0;
  int n_unplanned_ = 0;  ///< running ones that are not yet in the step; a row of logits is kept for each
};

}  // namespace lathe::engine
