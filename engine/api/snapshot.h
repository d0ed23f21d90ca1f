// SPDX-License-Identifier: Apache-2.0
// EngineSnapshot: the state of a loaded engine at one moment, for windows, metrics and tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/request.h"

namespace lathe::engine {

enum class RequestPhase : std::uint8_t { queued, prefill, decode, preempted, finished };

struct ActiveRequest {
  std::uint64_t id = 0;
  RequestPhase phase = RequestPhase::queued;
  std::string source;
  std::int64_t n_prompt = 0, n_cached = 0, n_computed = 0, n_output = 0, n_blocks = 0, n_preemptions = 0;
  std::int64_t n_ahead = 0;  ///< requests ahead in the queue
  std::int64_t submitted_ns = 0;
};

/// One physical KV block. Invariant: a block with n_references == 0 is cached and evictable if hashed, else free.
struct KvBlockState {
  std::uint64_t owner = 0;  ///< id of a request that holds the block; 0: no request
  std::int32_t n_references = 0;
  std::int16_t n_filled = 0;  ///< tokens written
  bool hashed = false;        ///< prefix lookups can find the block
};

/// KV blocks of the layers with a sliding window shorter than that of other layers.
struct KvWindowState {
  std::int64_t window = 0;                                                      ///< tokens
  int n_blocks = 0, n_blocks_used = 0, n_blocks_cached = 0, n_blocks_free = 0;  ///< used + cached + free = blocks
};

/// One slot of the states of recurrent layers.
struct StateSlot {
  std::uint64_t owner = 0;    ///< id of the request whose state it holds; 0: no request, or a snapshot
  std::int64_t n_tokens = 0;  ///< after which the state is; 0: the slot is empty
};

/// States of recurrent layers, and their snapshots, from which the prefix cache continues.
struct RecurrentStates {
  int n_slots = 0, n_slots_used = 0;          ///< one for each running request; 0: no layer is recurrent
  int n_snapshots = 0, n_snapshots_held = 0;  ///< held: a lookup can find it
  std::int64_t slot_bytes = 0;                ///< of a state, and of a snapshot
  std::uint64_t n_snapshots_taken = 0, n_snapshot_hits = 0, n_snapshots_evicted = 0;
  std::vector<StateSlot> slot_states{};  ///< [n_slots + n_snapshots], or empty if nobody watches: Engine::watch_blocks()
};

/// Buckets of a histogram for Prometheus. Units: seconds, or tokens.
struct HistogramSnapshot {
  std::vector<double> bounds;         ///< upper bounds, ascending, without +Inf
  std::vector<std::uint64_t> counts;  ///< counts of bounds.size() + 1 buckets, not cumulative
  double sum = 0;
  std::uint64_t count = 0;
};

struct EngineCounters {
  std::uint64_t n_steps = 0;
  std::uint64_t n_prefill_tokens = 0;  ///< prompt tokens computed; a token that preemption discards still counts once
  // ---- sums of Usage: a prompt is counted when its first token is generated, once for all of its answers
  std::uint64_t n_prompt_tokens = 0;  ///< tokens of the prompts, whether found in the prefix cache or computed
  std::uint64_t n_generation_tokens = 0;
  std::uint64_t n_jumped_tokens = 0;   ///< generated tokens that a constraint forced and no step sampled
  std::uint64_t n_prefix_queries = 0;  ///< prompt tokens looked up in the prefix cache
  std::uint64_t n_prefix_hits = 0;     ///< prompt tokens found in the prefix cache
  // ----
  std::uint64_t n_preemptions = 0;
  std::uint64_t n_recomputed_tokens = 0;
  std::uint64_t n_padding_tokens = 0;  ///< rows computed only so that a batch keeps its shape
  // ---- KV cache occupancy, summed over the steps. Units: tokens x steps; divided by n_kv_held the others are shares
  std::uint64_t n_kv_held = 0;      ///< capacity of the blocks that requests held
  std::uint64_t n_kv_reserved = 0;  ///< part of n_kv_held in blocks without content yet, or no longer with any
  std::uint64_t n_kv_unfilled = 0;  ///< part of n_kv_held after the last token of blocks in use
  std::uint64_t n_finished_stop = 0, n_finished_length = 0, n_finished_abort = 0, n_finished_error = 0;
};

struct EngineSnapshot {
  std::int64_t time_ns = 0;  ///< steady clock
  std::uint64_t step = 0;
  int n_running = 0, n_waiting = 0;
  int n_blocks = 0, n_blocks_used = 0, n_blocks_cached = 0, n_blocks_free = 0;  ///< used + cached + free = blocks
  int block_size = 0;
  double step_ms = 0;  ///< last step
  int step_prefill_tokens = 0, step_decode_tokens = 0, step_padding_tokens = 0;
  std::int64_t n_kv_reserved = 0;  ///< capacity of held blocks without needed content, in tokens: reservation waste
  std::int64_t n_kv_unfilled = 0;  ///< capacity after the last token of blocks in use, in tokens: internal waste
  EngineCounters counters;
  HistogramSnapshot ttft_s, itl_s, e2e_s, queue_s, prefill_s, decode_s;
  HistogramSnapshot prompt_tokens, generation_tokens;  ///< tokens of ended requests; sums are those of `counters`
  std::vector<ActiveRequest> requests;                 ///< running, then waiting
  std::vector<KvBlockState> blocks;                    ///< [n_blocks], or empty if nobody watches: Engine::watch_blocks()
  /// Window layers. n_blocks and `blocks` are those of the primary group, the layers with the longest window, which alone
  /// decides admission.
  std::vector<KvWindowState> windows;
  RecurrentStates states;
  std::uint64_t next_event = 0;  ///< SchedulerEvent::sequence of the next event
  double kv_usage() const { return n_blocks == 0 ? 0.0 : static_cast<double>(n_blocks_used) / n_blocks; }
};

}  // namespace lathe::engine
