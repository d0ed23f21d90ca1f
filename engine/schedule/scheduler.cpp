// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/scheduler.h"

#include <algorithm>
#include <utility>

#include "kernels/api/check.h"

namespace lathe::engine {

Scheduler::Scheduler(const SchedulerOptions& options, const PolicyDescriptor& policy, PagedCache cache)
    : options_(options), policy_(&policy), cache_(std::move(cache)) {
  LATHE_CHECK(options_.max_num_seqs > 0 && options_.max_num_batched_tokens >= options_.max_num_seqs &&
              options_.max_logit_rows >= options_.max_num_seqs);
  const auto n_seqs = static_cast<std::size_t>(options_.max_num_seqs);
  const auto n_rows = static_cast<std::size_t>(options_.max_num_batched_tokens);
  running_.reserve(n_seqs);
  plan_.entries.reserve(n_seqs);
  plan_.batch.token_ids.reserve(n_rows);
  plan_.batch.positions.reserve(n_rows);
  plan_.batch.slots.reserve(n_rows);
  plan_.batch.query_start.reserve(n_seqs + 1);
  plan_.batch.context_len.reserve(n_seqs);
  plan_.batch.block_tables.reserve(n_seqs * static_cast<std::size_t>(cache_.blocks_for(options_.max_seq_tokens)));
  plan_.batch.logit_rows.reserve(static_cast<std::size_t>(options_.max_logit_rows));
  events_.reserve(8 * n_seqs);
}

// ---- the engine loop's calls

void Scheduler::add(Sequence& sequence, std::int64_t now_ns) {
  LATHE_CHECK(!sequence.tokens.empty() && cache_.blocks_for(sequence.n_tokens()) <= cache_.pool().n_blocks());
  sequence.state = SequenceState::waiting;
  note(sequence, SchedulerEventKind::queued, {waiting_.size()}, now_ns);
  waiting_.push_back(sequence);
}

StepPlan& Scheduler::plan(std::int64_t now_ns) {
  plan_.entries.clear();
  plan_.n_prefill_tokens = plan_.n_decode_tokens = 0;
  ++step_;
  now_ns_ = now_ns;
  budget_ = options_.max_num_batched_tokens;
  logit_budget_ = options_.max_logit_rows;
  n_unplanned_ = static_cast<int>(running_.size());
  policy_->plan(*this);
  LATHE_CHECK(!plan_.entries.empty() || !has_work());
  build_batch();
  return plan_;
}

void Scheduler::commit(const PlannedSequence& entry) {
  Sequence& sequence = *entry.sequence;
  sequence.n_computed += entry.n_tokens;
  const int n_prompt_computed = std::min(sequence.n_computed, sequence.n_prompt);
  if (n_prompt_computed > sequence.n_prompt_counted) {
    counters_.n_prompt_tokens += static_cast<std::uint64_t>(n_prompt_computed - sequence.n_prompt_counted);
    sequence.n_prompt_counted = n_prompt_computed;
  }
  sequence.n_prompt_logits += entry.n_logits - (entry.samples ? 1 : 0);
  cache_.publish(sequence.table, sequence.tokens, sequence.n_computed, sequence.cache_salt);
}

void Scheduler::remove(Sequence& sequence, bool retract) {
  if (sequence.state == SequenceState::waiting) waiting_.remove(sequence);
  if (sequence.state == SequenceState::running) std::erase(running_, &sequence);
  if (retract) cache_.retract(sequence.table);
  cache_.release(sequence.table);
  sequence.state = SequenceState::done;
}

// ---- a policy's moves

int Scheduler::chunk_of(const Sequence& sequence) const { return chunk_from(sequence, sequence.n_computed); }

bool Scheduler::reserve(Sequence& sequence, std::int64_t n_tokens) {
  if (!cache_.grow(sequence.table, n_tokens)) return false;
  note_evictions(sequence);
  return true;
}

bool Scheduler::admit_first() {
  Sequence& sequence = *waiting_.front();
  if (still_must_wait(sequence)) return false;
  // Cached blocks have no logits, so a prompt whose logits are wanted is computed in full.
  const bool may_match = !sequence.wants_prompt_logits || sequence.n_prompt_logits + 1 >= sequence.n_prompt;
  const std::span<const std::int32_t> tokens = sequence.tokens;
  const PrefixMatch match = cache_.match(may_match ? tokens : tokens.first(0), sequence.cache_salt);
  if (must_wait(sequence, match)) return false;

  waiting_.remove(sequence);
  running_.push_back(&sequence);
  ++n_unplanned_;
  sequence.state = SequenceState::running;
  sequence.wait_reason = WaitReason::none;
  sequence.n_chunks = 0;
  sequence.n_computed = cache_.adopt_match(sequence.table);
  if (may_match && cache_.shares_prefixes() && !sequence.was_admitted) {
    counters_.n_prefix_queries += static_cast<std::uint64_t>(sequence.n_tokens());
    counters_.n_prefix_hits += static_cast<std::uint64_t>(sequence.n_computed);
  }
  account_admission(sequence, sequence.n_computed);
  LATHE_CHECK(reserve(sequence, sequence.n_tokens()));
  return true;
}

Sequence& Scheduler::preempt_last() {
  Sequence& victim = *running_.back();
  const auto place = static_cast<std::int64_t>(running_.size());
  note(victim, SchedulerEventKind::preempted, {victim.n_computed, cache_.pool().n_used(), place, place}, now_ns_);
  running_.pop_back();
  --n_unplanned_;
  cache_.release(victim.table);
  victim.n_lost = std::exchange(victim.n_computed, 0);
  ++victim.n_preemptions;
  ++counters_.n_preemptions;
  victim.state = SequenceState::waiting;
  waiting_.push_front(victim);
  return victim;
}

void Scheduler::schedule(Sequence& sequence, int n_tokens) {
  const int begin = sequence.n_computed;
  const int end = begin + n_tokens;
  LATHE_CHECK(n_tokens > 0 && n_tokens <= budget_ && cache_.n_missing(sequence.table, end) == 0);
  const bool samples = end == sequence.n_tokens();
  const int n_logits = prompt_logits_in(sequence, begin, end) + (samples ? 1 : 0);
  LATHE_CHECK(n_logits <= logit_budget_);
  budget_ -= n_tokens;
  logit_budget_ -= n_logits;
  --n_unplanned_;
  if (sequence.in_prefill()) {
    if (sequence.n_chunks++ > 0) {
      note(sequence, SchedulerEventKind::chunked,
           {n_tokens, options_.max_num_batched_tokens, plan_.n_decode_tokens, sequence.n_remaining() - n_tokens}, now_ns_);
    }
    plan_.n_prefill_tokens += n_tokens;
  } else {
    plan_.n_decode_tokens += n_tokens;
  }
  plan_.entries.push_back({.sequence = &sequence, .n_tokens = n_tokens, .n_logits = n_logits, .samples = samples});
}

// ---- how much, and whether at all

int Scheduler::chunk_from(const Sequence& sequence, int begin) const {
  const int n_remaining = sequence.n_tokens() - begin;
  // Without chunked prefill a prompt starts only where it fits as a whole; what preemption made longer than any step may be
  // split all the same, for it could never return otherwise.
  const bool may_split =
      options_.chunked_prefill || sequence.state == SequenceState::running || n_remaining > options_.max_num_batched_tokens;
  if (!may_split && n_remaining > budget_) return 0;
  const int n_tokens = std::min(n_remaining, budget_);
  const int n_others = n_unplanned_ - (sequence.state == SequenceState::running ? 1 : 0);
  const int n_logits = logit_budget_ - n_others;
  if (n_logits <= 0) return 0;
  const int end = begin + n_tokens;
  if (prompt_logits_in(sequence, begin, end) + (end == sequence.n_tokens() ? 1 : 0) <= n_logits) return n_tokens;
  return std::max(sequence.n_prompt_logits, begin) + n_logits - begin;
}

int Scheduler::prompt_logits_in(const Sequence& sequence, int begin, int end) const {
  if (!sequence.wants_prompt_logits) return 0;
  // The row of token p predicts token p + 1, so the last row of the prompt belongs to the answer.
  return std::max(0, std::min(end, sequence.n_prompt - 1) - std::max(begin, sequence.n_prompt_logits));
}

int Scheduler::block_slack() const { return cache_.pool().n_available() - static_cast<int>(running_.size()); }

bool Scheduler::still_must_wait(const Sequence& sequence) const {
  if (running_.empty()) return false;
  switch (sequence.wait_reason) {
    case WaitReason::none: return false;
    case WaitReason::sequences: return static_cast<int>(running_.size()) >= options_.max_num_seqs;
    case WaitReason::blocks: return block_slack() <= sequence.blocked_slack;
    case WaitReason::budget: return budget_ == 0;
  }
  return false;
}

bool Scheduler::must_wait(Sequence& sequence, const PrefixMatch& match) {
  const auto n_running = static_cast<int>(running_.size());
  const int n_needed = cache_.blocks_for(sequence.n_tokens()) - match.n_blocks;
  const int n_available = cache_.pool().n_available() - match.n_idle;
  WaitReason reason = WaitReason::none;
  if (n_running >= options_.max_num_seqs) {
    reason = WaitReason::sequences;
  } else if (n_needed + n_running > n_available) {
    // One block stays for each running sequence: the next token of one of them must not cost the newcomer its place.
    reason = WaitReason::blocks;
  } else if (chunk_from(sequence, match.n_blocks * cache_.block_size()) == 0) {
    reason = WaitReason::budget;
  }
  if (reason == WaitReason::none) return false;
  sequence.blocked_slack = block_slack();
  if (std::exchange(sequence.wait_reason, reason) != reason) {
    note(sequence, SchedulerEventKind::waiting, {n_needed, n_available, n_running, options_.max_num_seqs}, now_ns_);
  }
  return true;
}

// ---- account

void Scheduler::account_admission(Sequence& sequence, int n_found) {
  if (!sequence.was_admitted) {
    sequence.was_admitted = true;
    sequence.admitted_ns = now_ns_;
    sequence.n_cached = n_found;
    sequence.n_prompt_counted = n_found;
    note(sequence, SchedulerEventKind::admitted, {sequence.n_prompt, n_found, chunk_of(sequence)}, now_ns_);
    return;
  }
  const int n_again = std::max(0, std::exchange(sequence.n_lost, 0) - n_found);
  sequence.n_recomputed += n_again;
  counters_.n_recomputed_tokens += static_cast<std::uint64_t>(n_again);
  note(sequence, SchedulerEventKind::resumed, {n_found, n_again}, now_ns_);
}

void Scheduler::note_evictions(const Sequence& sequence) {
  if (const int n = cache_.take_n_evicted(); n > 0) note(sequence, SchedulerEventKind::evicted, {n}, now_ns_);
}

void Scheduler::note(const Sequence& sequence, SchedulerEventKind kind, std::array<std::int64_t, 4> n,
                     std::int64_t time_ns) {
  events_.push_back({.time_ns = time_ns, .step = step_, .request_id = sequence.id, .kind = kind, .n = n});
}

bool Scheduler::consistent() const {
  const BlockPool& pool = cache_.pool();
  std::vector<int> n_references(static_cast<std::size_t>(pool.n_blocks()), 0);
  for (const Sequence* sequence : running_) {
    if (sequence->state != SequenceState::running) return false;
    if (cache_.n_missing(sequence->table, sequence->n_computed) > 0) return false;
    for (const std::int32_t block : sequence->table.blocks) ++n_references[static_cast<std::size_t>(block)];
  }
  for (const Sequence* sequence = waiting_.front(); sequence != nullptr; sequence = sequence->next) {
    if (sequence->state != SequenceState::waiting || !sequence->table.blocks.empty()) return false;
  }
  int n_used = 0;
  for (std::int32_t block = 0; block < pool.n_blocks(); ++block) {
    const int n = n_references[static_cast<std::size_t>(block)];
    if (pool.n_references(block) != n) return false;
    if (n > 1 && !pool.is_cached(block)) return false;  // only findable blocks are ever shared
    if (n > 0) ++n_used;
  }
  return pool.n_used() == n_used;
}

// ---- the rows

void Scheduler::build_batch() {
  BatchPlan& batch = plan_.batch;
  batch.clear();
  batch.query_start.push_back(0);
  for (PlannedSequence& entry : plan_.entries) {
    append_rows(entry);
    batch.max_blocks = std::max(batch.max_blocks, cache_.blocks_for(batch.context_len.back()));
  }
  for (const PlannedSequence& entry : plan_.entries) append_block_table(entry);
}

void Scheduler::append_rows(PlannedSequence& entry) {
  BatchPlan& batch = plan_.batch;
  const Sequence& sequence = *entry.sequence;
  const int begin = sequence.n_computed;
  const int end = begin + entry.n_tokens;
  const int size = cache_.block_size();
  const int first_row = batch.n_rows();
  for (int position = begin; position < end; ++position) {
    batch.token_ids.push_back(sequence.tokens[static_cast<std::size_t>(position)]);
    batch.positions.push_back(position);
    batch.slots.push_back(sequence.table.blocks[static_cast<std::size_t>(position / size)] * size + position % size);
  }
  // The rows with logits are the last ones of the chunk, whether they belong to the prompt, to the answer or to both.
  entry.first_logit = static_cast<int>(batch.logit_rows.size());
  const int last = entry.samples || entry.n_logits == 0 ? end : std::min(end, sequence.n_prompt - 1);
  for (int position = last - entry.n_logits; position < last; ++position) {
    batch.logit_rows.push_back(first_row + position - begin);
  }
  batch.query_start.push_back(batch.n_rows());
  batch.context_len.push_back(end);
}

void Scheduler::append_block_table(const PlannedSequence& entry) {
  BatchPlan& batch = plan_.batch;
  const auto n_blocks = cache_.blocks_for(entry.sequence->n_computed + entry.n_tokens);
  const auto first = entry.sequence->table.blocks.begin();
  batch.block_tables.insert(batch.block_tables.end(), first, first + n_blocks);
  batch.block_tables.insert(batch.block_tables.end(), static_cast<std::size_t>(batch.max_blocks - n_blocks), -1);
}

}  // namespace lathe::engine
