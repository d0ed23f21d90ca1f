// SPDX-License-Identifier: Apache-2.0
// Sequence: the tokens of one request and how far they are computed, as the scheduler sees them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cache/paged_cache.h"

namespace lathe::engine {

enum class SequenceState : std::uint8_t { waiting, running, done };
/// Why the first waiting sequence was not admitted.
enum class WaitReason : std::uint8_t { none, budget, sequences, blocks, batch, fill };

/// Owns: its tokens and block table; both have their final capacity from the start, so a step allocates nothing.
/// Invariant: n_computed <= tokens.size(); between two steps a running sequence with all tokens computed does not exist,
/// because the last step sampled one more. Preempted: waiting, with n_preemptions > 0 and an empty table.
struct Sequence {
  // ---- asked
  std::uint64_t id = 0;
  std::string cache_salt;
  int n_prompt = 0;
  bool wants_prompt_logits = false;
  int rope_choice = 0;  ///< of RunnerLimits::rope_contexts; part of cache_salt, so that no block is shared between two
  std::int64_t arrived_ns = 0;

  // ---- progress
  std::vector<std::int32_t> tokens;  ///< the prompt, then what was generated
  BlockTable table;
  int n_computed = 0;        ///< leading tokens whose K and V lie in the cache
  int n_prompt_logits = 0;   ///< leading prompt rows whose logits were given out
  int n_prompt_counted = 0;  ///< prompt tokens that entered the counters
  int n_chunks = 0;          ///< steps of this prefill

  // ---- place
  SequenceState state = SequenceState::waiting;
  WaitReason wait_reason = WaitReason::none;  ///< the last one that was told
  int blocked_slack = 0;                      ///< Scheduler::block_slack() when that was found
  Sequence* previous = nullptr;               ///< in the queue
  Sequence* next = nullptr;

  // ---- account
  bool was_admitted = false;
  int n_looked_up = 0;  ///< prompt tokens looked up in the cache at the first admission; 0: the cache was not asked
  int n_cached = 0;     ///< of those, found
  int n_preemptions = 0;
  int n_lost = 0;                 ///< tokens that the last preemption threw away
  std::int64_t n_recomputed = 0;  ///< of all that was thrown away, what was not found in the cache again
  int peak_blocks = 0;            ///< most blocks that all requests held in a step while it ran
  std::int64_t admitted_ns = 0;   ///< first admission

  int n_tokens() const { return static_cast<int>(tokens.size()); }
  int n_output() const { return n_tokens() - n_prompt; }
  int n_remaining() const { return n_tokens() - n_computed; }
  /// Reads given tokens, as opposed to extending them by one.
  bool in_prefill() const { return n_output() == 0 || n_remaining() > 1; }
};

/// Sequences in order, linked through themselves: O(1) at both ends and in the middle. Owns: nothing.
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
