// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/scheduler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

constexpr std::int64_t kNsInMs = 1'000'000;
constexpr int kJumpRows = 16;  // of an answer, whatever prompts are allowed: so few take hardly longer than one
static_assert(SnapshotRule::kMaxOfStep <= PendingSnapshots::kMost);

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, const PolicyDescriptor& policy, PagedCache cache)
    : options_(options),
      policy_(&policy),
      cache_(std::move(cache)),
      batch_(options.max_num_seqs),
      pace_(options.target_itl_ns) {
  LATHE_CHECK(options_.max_num_seqs > 0 && options_.max_num_batched_tokens >= options_.max_num_seqs &&
              options_.max_logit_rows >= options_.max_num_seqs);
  LATHE_CHECK(!policy_->reserves_context || (options_.max_seq_tokens > 0 && full_batch() > 0 && cache_.windows().empty()));
  const auto n_seqs = static_cast<std::size_t>(options_.max_num_seqs);
  running_.reserve(n_seqs);
  plan_.entries.reserve(n_seqs);
  plan_.padding.reserve(n_seqs);
  plan_.builder = BatchBuilder({.block_size = cache_.block_size(),
                                .n_windows = cache_.windows().size(),
                                .max_rows = static_cast<std::size_t>(options_.max_num_batched_tokens),
                                .max_seqs = n_seqs,
                                .max_logit_rows = static_cast<std::size_t>(options_.max_logit_rows),
                                .max_blocks = static_cast<std::size_t>(cache_.blocks_for(options_.max_seq_tokens))});
  events_.reserve(8 * n_seqs);
}

// ---- the engine loop's calls

void Scheduler::add(Sequence& sequence, std::int64_t now_ns) {
  LATHE_CHECK(!sequence.tokens.empty() && peak_blocks(sequence.n_tokens()) <= cache_.pool().n_blocks());
  sequence.state = SequenceState::waiting;
  record(sequence, SchedulerEventKind::queued, {waiting_.size()}, now_ns);
  waiting_.push_back(sequence);
}

StepPlan& Scheduler::plan(std::int64_t now_ns) {
  plan_.entries.clear();
  plan_.padding.clear();
  plan_.n_prefill_tokens = plan_.n_decode_tokens = plan_.n_padding_tokens = plan_.n_jumped_tokens = 0;
  ++step_;
  now_ns_ = now_ns;
  budget_ = options_.max_num_batched_tokens;
  prompt_budget_ = paced_prompt_tokens();
  logit_budget_ = options_.max_logit_rows;
  n_unplanned_ = static_cast<int>(running_.size());
  wake_ns_ = now_ns;
  policy_->plan(*this);
  LATHE_CHECK(!plan_.entries.empty() || !plan_.padding.empty() || !has_work() || wake_ns_ > now_ns);
  build_batch();
  account_room();
  return plan_;
}

void Scheduler::commit(const PlannedSequence& entry) {
  Sequence& sequence = *entry.sequence;
  sequence.n_computed += entry.n_tokens;
  sequence.n_jumped = std::clamp(sequence.n_remaining() - 1, 0, sequence.n_jumped);
  const int n_prompt_computed = std::min(sequence.n_computed, sequence.n_prompt);
  if (n_prompt_computed > sequence.n_prompt_counted) {
    counters_.n_prompt_tokens += static_cast<std::uint64_t>(n_prompt_computed - sequence.n_prompt_counted);
    sequence.n_prompt_counted = n_prompt_computed;
  }
  sequence.n_prompt_logits += entry.n_logits - (entry.samples ? 1 : 0);
  if (policy_->reserves_context) return;
  cache_.publish(sequence.table, sequence.tokens, sequence.n_computed, sequence.cache_salt);
  cache_.drop_behind_window(sequence.table, sequence.n_computed);
}

void Scheduler::note_step_time(std::int64_t took_ns) {
  // Forced tokens are read as those of a prompt are, but a step with no others says nothing of either kind of step.
  if (plan_.n_jumped_tokens > 0 && plan_.n_prefill_tokens == 0) return;
  pace_.note_step(plan_.n_prefill_tokens + plan_.n_jumped_tokens, plan_.n_decode_tokens, took_ns);
}

void Scheduler::remove(Sequence& sequence, bool retract) {
  if (sequence.state == SequenceState::waiting) waiting_.remove(sequence);
  if (sequence.state == SequenceState::running) std::erase(running_, &sequence);
  if (retract) cache_.retract(sequence.table, sequence.tokens, sequence.cache_salt);
  if (!batch_.vacate(sequence)) cache_.release(sequence.table);
  if (!batch_.is_empty() && batch_.n_living() == 0) end_batch();
  sequence.state = SequenceState::done;
}

void Scheduler::end_batch() {
  for (BatchSlot& slot : batch_.slots()) cache_.release(slot.table);
  batch_.clear();
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
  // Cached blocks have no logits, so a prompt whose logits are requested is computed in full.
  const bool has_logits = !sequence.wants_prompt_logits || sequence.n_prompt_logits + 1 >= sequence.n_prompt;
  const bool may_match = has_logits && !policy_->reserves_context;
  const std::span<const std::int32_t> tokens = sequence.tokens;
  const PrefixMatch match = cache_.match(may_match ? tokens : tokens.first(0), sequence.cache_salt);
  if (must_wait(sequence, match)) return false;

  waiting_.remove(sequence);
  running_.push_back(&sequence);
  ++n_unplanned_;
  sequence.state = SequenceState::running;
  sequence.wait_reason = WaitReason::none;
  sequence.n_chunks = 0;
  sequence.n_kv_found = match.n_kv_blocks * cache_.block_size();
  sequence.n_computed = cache_.adopt_match(sequence.table);
  cache_.take_state_slot(sequence.table);
  if (may_match && cache_.shares_prefixes() && !sequence.was_admitted) {
    sequence.n_looked_up = sequence.n_tokens();
    counters_.n_prefix_queries += static_cast<std::uint64_t>(sequence.n_tokens());
    counters_.n_prefix_hits += static_cast<std::uint64_t>(sequence.n_computed);
  }
  account_admission(sequence, sequence.n_computed);
  LATHE_CHECK(policy_->reserves_context ? cache_.take_contiguous(sequence.table, options_.max_seq_tokens)
                                        : reserve(sequence, n_to_reserve(sequence)));
  return true;
}

Sequence& Scheduler::preempt_last() {
  Sequence& victim = *running_.back();
  const auto place = static_cast<std::int64_t>(running_.size());
  record(victim, SchedulerEventKind::preempted, {victim.n_computed, cache_.pool().n_used(), place, place}, now_ns_);
  running_.pop_back();
  --n_unplanned_;
  cache_.release(victim.table);
  victim.n_lost = std::exchange(victim.n_computed, 0);
  victim.n_jumped = 0;
  ++victim.n_preemptions;
  ++counters_.n_preemptions;
  victim.state = SequenceState::waiting;
  waiting_.push_front(victim);
  return victim;
}

void Scheduler::schedule(Sequence& sequence, int n_tokens, int n_padding) {
  const int begin = sequence.n_computed;
  const int end = begin + n_tokens;
  LATHE_CHECK(n_tokens > 0 && n_padding >= 0 && n_tokens + n_padding <= budget_ &&
              cache_.n_missing(sequence.table, end + n_padding) == 0);
  const bool samples = end == sequence.n_tokens();
  const int n_logits = prompt_logits_in(sequence, begin, end) + (samples ? 1 : 0);
  LATHE_CHECK(n_logits <= logit_budget_);
  const bool is_paced = n_tokens == prompt_budget_ && n_tokens < std::min(sequence.n_remaining(), budget_);
  cache_.grow_windows(sequence.table, end);
  take_snapshots(sequence, end);
  budget_ -= n_tokens + n_padding;
  plan_.n_padding_tokens += n_padding;
  logit_budget_ -= n_logits;
  --n_unplanned_;
  if (sequence.in_prefill()) {
    if (sequence.n_chunks++ > 0) {
      record(sequence, is_paced ? SchedulerEventKind::paced : SchedulerEventKind::chunked,
             {n_tokens, is_paced ? pace_.goal_ns() / kNsInMs : options_.max_num_batched_tokens, plan_.n_decode_tokens,
              sequence.n_remaining() - n_tokens},
             now_ns_);
    }
    prompt_budget_ -= n_tokens;
    plan_.n_prefill_tokens += n_tokens;
  } else {
    ++plan_.n_decode_tokens;
    plan_.n_jumped_tokens += n_tokens - 1;
    prompt_budget_ -= std::min(prompt_budget_, n_tokens - 1);
  }
  plan_.entries.push_back(
      {.sequence = &sequence, .n_tokens = n_tokens, .n_padding = n_padding, .n_logits = n_logits, .samples = samples});
}

/// Takes the snapshots of recurrent states that the rows up to `end` pass. Snapshots end no chunk: a step of its own for the
/// few tokens after the last block of a prompt would read all weights again.
void Scheduler::take_snapshots(Sequence& sequence, int end) {
  if (!cache_.snapshots() || policy_->reserves_context) return;  // what such policies compute is not published
  const SnapshotRule rule{.block_size = cache_.block_size(),
                          .n_tokens = sequence.n_tokens(),
                          .in_prefill = sequence.in_prefill(),
                          .branch = sequence.n_kv_found};
  if (!rule.in_prefill) {  // an answer holds one, so of several borders that forced tokens pass the last one counts
    const int last = end / rule.interval() * rule.interval();
    if (last > sequence.n_computed) cache_.take_snapshot(sequence.table, last, true);
    return;
  }
  for (int n = rule.next(sequence.n_computed); n <= end; n = rule.next(n)) {
    cache_.take_snapshot(sequence.table, n, false);
  }
}

// ---- batches of requests

void Scheduler::start_batch(BatchCause cause) {
  LATHE_CHECK(batch_.is_empty() && running_.empty() && waiting_.front() != nullptr);
  const std::int64_t first_arrived_ns = waiting_.front()->arrived_ns;
  forms_batch_ = true;
  while (Sequence* first = waiting_.front()) {
    if (!admit_first()) break;
    batch_.add(*first);
  }
  forms_batch_ = false;
  for (const BatchSlot& slot : batch_.slots()) {
    record(*slot.sequence, SchedulerEventKind::batched,
           {batch_.size(), batch_.width(), static_cast<std::int64_t>(cause), (now_ns_ - first_arrived_ns) / kNsInMs},
           now_ns_);
  }
}

void Scheduler::wait_for_batch() {
  report_waiting(WaitReason::batch, SchedulerEventKind::waiting_batch, {batch_.n_living(), batch_.size()});
}

void Scheduler::wait_to_fill(int n_wanted, std::int64_t deadline_ns) {
  wake_ns_ = deadline_ns;
  report_waiting(WaitReason::fill, SchedulerEventKind::waiting_fill,
                 {waiting_.size(), n_wanted, options_.max_batch_delay_ns / kNsInMs});
}

int Scheduler::full_batch() const {
  const int n_preferred = options_.preferred_batch_size > 0 ? options_.preferred_batch_size : options_.max_num_seqs;
  return std::min({n_preferred, options_.max_num_seqs,
                   cache_.pool().n_blocks() / std::max(1, cache_.blocks_for(options_.max_seq_tokens))});
}

void Scheduler::pad_prompt(const BatchSlot& slot, int n_rows) {
  const BlockTable& table = slot.sequence != nullptr ? slot.sequence->table : slot.table;
  LATHE_CHECK(n_rows > 0 && n_rows <= budget_ && cache_.n_missing(table, slot.n_read + n_rows) == 0);
  budget_ -= n_rows;
  plan_.n_padding_tokens += n_rows;
  plan_.padding.push_back({.table = &table, .begin = slot.n_read, .n_rows = n_rows});
}

void Scheduler::pad_answer(BatchSlot& slot) {
  LATHE_CHECK(slot.sequence == nullptr && budget_ > 0 && logit_budget_ > 0);
  --budget_;
  --logit_budget_;
  ++plan_.n_padding_tokens;
  plan_.padding.push_back({.table = &slot.table, .begin = slot.position, .n_rows = 1, .has_logits = true});
  // At the end of the reservation, padding stays in the last row: the shape has no further column.
  slot.position = std::min(slot.position + 1, static_cast<int>(options_.max_seq_tokens) - 1);
}

void Scheduler::report_waiting(WaitReason reason, SchedulerEventKind kind, std::array<std::int64_t, 4> n) {
  for (Sequence* sequence = waiting_.back(); sequence != nullptr; sequence = sequence->previous) {
    if (std::exchange(sequence->wait_reason, reason) == reason) return;
    record(*sequence, kind, n, now_ns_);
  }
}

// ---- chunk sizes and admission

int Scheduler::paced_prompt_tokens() const {
  const bool anybody_waits =
      std::any_of(running_.begin(), running_.end(), [](const Sequence* sequence) { return !sequence->in_prefill(); });
  // Prompts that must not be split cannot be paced.
  return anybody_waits && options_.chunked_prefill ? pace_.max_tokens() : std::numeric_limits<int>::max();
}

int Scheduler::chunk_from(const Sequence& sequence, int begin) const {
  const int n_remaining = sequence.n_tokens() - begin;
  // Without chunked prefill a prompt starts only if it fits whole. A preempted sequence that has become longer than any step
  // may be split all the same, because it could never resume otherwise.
  const bool may_split =
      options_.chunked_prefill || sequence.state == SequenceState::running || n_remaining > options_.max_num_batched_tokens;
  if (!may_split && n_remaining > budget_) return 0;
  const bool is_prompt = sequence.in_prefill();
  const int n_tokens = std::min({n_remaining, budget_, is_prompt ? prompt_budget_ : jump_rows()});
  if (n_tokens == 0) return 0;
  const int n_others = n_unplanned_ - (sequence.state == SequenceState::running ? 1 : 0);
  const int n_logits = logit_budget_ - n_others;
  if (n_logits <= 0) return 0;
  const int end = begin + n_tokens;
  if (prompt_logits_in(sequence, begin, end) + (end == sequence.n_tokens() ? 1 : 0) <= n_logits) return n_tokens;
  return std::max(sequence.n_prompt_logits, begin) + n_logits - begin;
}

int Scheduler::jump_rows() const {
  const int n_others = n_unplanned_ - 1;
  return std::max(1, std::min(budget_ - n_others, std::max(prompt_budget_, kJumpRows)));
}

int Scheduler::prompt_logits_in(const Sequence& sequence, int begin, int end) const {
  if (!sequence.wants_prompt_logits) return 0;
  // The row of token p predicts token p + 1, so the last row of the prompt belongs to the answer.
  return std::max(0, std::min(end, sequence.n_prompt - 1) - std::max(begin, sequence.n_prompt_logits));
}

int Scheduler::peak_blocks(std::int64_t n_tokens) const {
  return static_cast<int>(
      engine::peak_blocks(n_tokens, cache_.window(), options_.max_num_batched_tokens, cache_.block_size()));
}

std::int64_t Scheduler::n_to_reserve(const Sequence& sequence) const {
  return cache_.window() > 0 ? sequence.n_computed + chunk_of(sequence) : sequence.n_tokens();
}

int Scheduler::block_slack() const { return cache_.pool().n_available() - static_cast<int>(running_.size()); }

bool Scheduler::still_must_wait(const Sequence& sequence) const {
  if (running_.empty()) return false;
  switch (sequence.wait_reason) {
    case WaitReason::none: return false;
    case WaitReason::sequences: return static_cast<int>(running_.size()) >= options_.max_num_seqs;
    case WaitReason::blocks: return block_slack() <= sequence.blocked_slack;
    case WaitReason::budget: return budget_ == 0 || prompt_budget_ == 0;
    case WaitReason::batch:
    case WaitReason::fill: return false;
  }
  return false;
}

bool Scheduler::must_wait(Sequence& sequence, const PrefixMatch& match) {
  const auto n_running = static_cast<int>(running_.size());
  const bool whole = policy_->reserves_context;
  const int n_needed =
      whole ? cache_.blocks_for(options_.max_seq_tokens) : peak_blocks(sequence.n_tokens()) - match.n_wanted;
  const int n_available = cache_.pool().n_available() - match.n_idle;
  WaitReason reason = WaitReason::none;
  if (n_running >= options_.max_num_seqs) {
    reason = WaitReason::sequences;
  } else if (whole ? cache_.pool().find_run(n_needed) < 0 : n_needed + n_running > n_available) {
    // One block is kept for each running sequence, so that the next token of one of them does not preempt the newcomer. A
    // sequence that has reserved the context needs no further block.
    reason = WaitReason::blocks;
  } else if (chunk_from(sequence, match.n_blocks * cache_.block_size()) == 0) {
    reason = WaitReason::budget;
  }
  if (reason == WaitReason::none) return false;
  sequence.blocked_slack = block_slack();
  if (std::exchange(sequence.wait_reason, reason) != reason) {
    const bool for_reservation = whole && reason == WaitReason::blocks;
    record(sequence, for_reservation ? SchedulerEventKind::waiting_reservation : SchedulerEventKind::waiting,
           {n_needed, n_available, n_running, options_.max_num_seqs}, now_ns_);
  }
  return true;
}

// ---- accounting

void Scheduler::account_admission(Sequence& sequence, int n_found) {
  if (!sequence.was_admitted) {
    sequence.was_admitted = true;
    sequence.admitted_ns = now_ns_;
    sequence.n_cached = n_found;
    sequence.n_prompt_counted = n_found;
    // A batch's first chunk is unknown until all of its requests are admitted, because its shape depends on them.
    const int n_chunk = forms_batch_ ? 0 : chunk_of(sequence);
    record(sequence, SchedulerEventKind::admitted, {sequence.n_prompt, n_found, n_chunk, sequence.n_kv_found}, now_ns_);
    return;
  }
  const int n_again = std::max(0, std::exchange(sequence.n_lost, 0) - n_found);
  sequence.n_recomputed += n_again;
  counters_.n_recomputed_tokens += static_cast<std::uint64_t>(n_again);
  record(sequence, SchedulerEventKind::resumed, {n_found, n_again, sequence.n_kv_found}, now_ns_);
}

CacheOccupancy Scheduler::occupancy() const {
  CacheOccupancy occupancy;
  for (const Sequence* sequence : running_) occupancy.add(sequence->table, sequence->n_computed, cache_.block_size());
  for (const BatchSlot& slot : batch_.slots()) occupancy.add(slot.table, 0, cache_.block_size());
  return occupancy;
}

void Scheduler::account_room() {
  counters_.n_padding_tokens += static_cast<std::uint64_t>(plan_.n_padding_tokens);
  CacheOccupancy occupancy = this->occupancy();
  for (const PlannedSequence& entry : plan_.entries) {
    const Sequence& sequence = *entry.sequence;
    occupancy.subtract(sequence.table, sequence.n_computed, cache_.block_size());
    occupancy.add(sequence.table, sequence.n_computed + entry.n_tokens, cache_.block_size());
  }
  const int n_used = cache_.pool().n_used();
  for (Sequence* sequence : running_) sequence->peak_blocks = std::max(sequence->peak_blocks, n_used);
  counters_.occupancy.n_held += occupancy.n_held;
  counters_.occupancy.n_reserved += occupancy.n_reserved;
  counters_.occupancy.n_unfilled += occupancy.n_unfilled;
}

void Scheduler::note_evictions(const Sequence& sequence) {
  if (const int n = cache_.take_n_evicted(); n > 0) record(sequence, SchedulerEventKind::evicted, {n}, now_ns_);
}

void Scheduler::record(const Sequence& sequence, SchedulerEventKind kind, std::array<std::int64_t, 4> n,
                       std::int64_t time_ns) {
  events_.push_back({.time_ns = time_ns, .step = step_, .request_id = sequence.id, .kind = kind, .n = n});
}

// ---- rows of the step

void Scheduler::build_batch() {
  plan_.builder.clear();
  for (PlannedSequence& entry : plan_.entries) add_rows(entry);
  for (const PlannedPadding& padding : plan_.padding) {
    plan_.builder.add({.table = *padding.table,
                       .begin = padding.begin,
                       .n_padding = padding.n_rows,
                       .first_logit = padding.n_rows - 1,
                       .n_logits = padding.has_logits ? 1 : 0,
                       .takes_best = true});
  }
  plan_.builder.finish();
}

void Scheduler::add_rows(PlannedSequence& entry) {
  const Sequence& sequence = *entry.sequence;
  const int begin = sequence.n_computed;
  const int end = begin + entry.n_tokens;
  // The rows with logits are the last ones of the chunk, whether they belong to the prompt, to the answer or to both.
  const int last = entry.samples || entry.n_logits == 0 ? end : std::min(end, sequence.n_prompt - 1);
  const std::span<const std::int32_t> tokens = sequence.tokens;
  entry.first_logit = plan_.builder.add(
      {.table = sequence.table,
       .token_ids = tokens.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(entry.n_tokens)),
       .begin = begin,
       .n_padding = entry.n_padding,
       .first_logit = last - entry.n_logits - begin,
       .n_logits = entry.n_logits,
       .takes_best = entry.samples && sequence.takes_best,
       .takes_state = entry.samples && sequence.takes_state,
       .second_begin = sequence.second_begin,
       .rope_choice = sequence.rope_choice});
}

}  // namespace lathe::engine
