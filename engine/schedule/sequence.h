// SPDX-License-Identifier: Apache-2.0
// Sequence: the tokens of one request and how many of them are computed, as the scheduler sees them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cache/paged_cache.h"

namespace lathe::engine {

enum class SequenceState : std::uint8_t { waiting, running, done };
/// Reason why the first waiting sequence was not admitted.
enum class WaitReason : std::uint8_t { none, budget, sequences, blocks, batch, fill };

/// Owns: its tokens and block table; both have their final capacity from the start, so a step allocates nothing. Invariant:
/// n_computed <= tokens.size(); between two steps no running sequence has all tokens computed, because the last step sampled
/// one more, behind which there may be n_jumped forced ones. A preempted sequence is waiting, with n_preemptions > 0 and an
/// empty table.
struct Sequence {
  // ---- request
  std::uint64_t id = 0;
  std::string cache_salt;
  int n_prompt = 0;
  bool wants_prompt_logits = false;
  bool takes_best = false;   ///< each token is the best one of its logits, which nothing else reads
  bool takes_state = false;  ///< the last row's hidden state is the answer, and no token is generated
  int second_begin = 0;      ///< index of the first token of the second text of a pair; 0: there is one text
  int rope_choice = 0;  ///< index in RunnerLimits::rope_contexts; part of cache_salt, so that two choices share no block
  std::int64_t arrived_ns = 0;

  // ---- progress
  std::vector<std::int32_t> tokens;  ///< the prompt, then the generated tokens
  BlockTable table;
  /// Leading tokens whose K and V were found at the last admission, also behind the snapshot with which it began.
  int n_kv_found = 0;
  int n_computed = 0;        ///< leading tokens whose K and V, and whose states, are in the cache
  int n_jumped = 0;          ///< last tokens that were appended without a step for each and are not computed
  int n_prompt_logits = 0;   ///< leading prompt rows whose logits were delivered
  int n_prompt_counted = 0;  ///< prompt tokens that are in the counters
  int n_chunks = 0;          ///< steps of this prefill

  // ---- queue
  SequenceState state = SequenceState::waiting;
  WaitReason wait_reason = WaitReason::none;  ///< the last reason that was recorded
  int blocked_slack = 0;                      ///< Scheduler::block_slack() when the reason was found
  Sequence* previous = nullptr;               ///< neighbour in the queue
  Sequence* next = nullptr;

  // ---- accounting
  bool was_admitted = false;
  int n_looked_up = 0;  ///< prompt tokens looked up in the cache at the first admission; 0: no lookup
  int n_cached = 0;     ///< looked-up tokens that were found
  int n_preemptions = 0;
  int n_lost = 0;                 ///< tokens that the last preemption discarded
  std::int64_t n_recomputed = 0;  ///< discarded tokens that were computed again, because the cache no longer had them
  int peak_blocks = 0;            ///< most blocks that all requests together held in a step while this one ran
  std::int64_t admitted_ns = 0;   ///< first admission

  int n_tokens() const { return static_cast<int>(tokens.size()); }
  int n_output() const { return n_tokens() - n_prompt; }
  int n_remaining() const { return n_tokens() - n_computed; }
  /// True if the next step reads given tokens, as opposed to the last one of an answer and those forced behind it.
  bool in_prefill() const { return n_output() == 0 || n_remaining() > 1 + n_jumped; }
};

/// A queue of sequences, linked through the sequences: O(1) at both ends and in the middle. Owns: nothing.
class SequenceQueue {
 public:
  Sequence* front() const { return front_; }
  Sequence* back() const { return back_; }
  int size() const { return size_; }
  void push_back(Sequence& sequence);
  void push_front(Sequence& sequence);
  void remove(Sequence& sequence);

 private:
  Sequence* front_ = nullptr;
  Sequence* back_ = nullptr;
  int size_ = 0;
};

}  // namespace lathe::engine
