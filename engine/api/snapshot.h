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
  std::int64_t n_ahead = 0;  ///< queued requests before it
  std::int64_t submitted_ns = 0;
};

/// One physical block. Invariant: n_references == 0 with a hash is cached and evictable, without one it is free.
struct KvBlockState {
  std::uint64_t owner = 0;  ///< id of a request that holds it; 0: nobody
  std::int32_t n_references = 0;
  std::int16_t n_filled = 0;  ///< tokens written
  bool hashed = false;        ///< found by prefix lookups
};

/// The blocks of the layers that see no more than a window, where others see farther.
struct KvWindowState {
  std::int64_t window = 0;                                                      ///< tokens
  int n_blocks = 0, n_blocks_used = 0, n_blocks_cached = 0, n_blocks_free = 0;  ///< used + cached + free = blocks
};

/// Buckets of a cumulative histogram as Prometheus has them. Units: seconds, or tokens.
struct HistogramSnapshot {
  std::vector<double> bounds;         ///< upper bounds, rising; +Inf not listed
  std::vector<std::uint64_t> counts;  ///< not cumulative, bounds.size() + 1 of them
  double sum = 0;
  std::uint64_t count = 0;
};

struct EngineCounters {
  std::uint64_t n_steps = 0;
  std::uint64_t n_prefill_tokens = 0;  ///< prompt tokens computed, each once, whatever preemption threw away
  // ---- sums of Usage: a prompt counts with its first token, once for all of its answers
  std::uint64_t n_prompt_tokens = 0;  ///< lengths of the prompts, found in the prefix cache or computed
  std::uint64_t n_generation_tokens = 0;
  std::uint64_t n_prefix_queries = 0;  ///< of the prompts' tokens, looked up in the prefix cache
  std::uint64_t n_prefix_hits = 0;     ///< of the prompts' tokens, found there
  // ----
  std::uint64_t n_preemptions = 0;
  std::uint64_t n_recomputed_tokens = 0;
  std::uint64_t n_padding_tokens = 0;  ///< rows computed for nobody, so that a batch keeps its shape
  // ---- the KV cache, summed over the steps. Units: tokens x steps; divided by the first, the others are shares
  std::uint64_t n_kv_held = 0;      ///< room in blocks that requests held
  std::uint64_t n_kv_reserved = 0;  ///< of it, in blocks that held nothing yet, or nothing any more
  std::uint64_t n_kv_unfilled = 0;  ///< of it, behind the last token of a block in use
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
  std::int64_t n_kv_reserved = 0;  ///< tokens of room in held blocks without any content that is wanted: reservation waste
  std::int64_t n_kv_unfilled = 0;  ///< tokens of room behind the last token of blocks in use: internal waste
  EngineCounters counters;
  HistogramSnapshot ttft_s, itl_s, e2e_s, queue_s, prefill_s, decode_s;
  HistogramSnapshot prompt_tokens, generation_tokens;  ///< of the requests that have ended; sums are those of the counters
  std::vector<ActiveRequest> requests;                 ///< running, then waiting
  std::vector<KvBlockState> blocks;
  /// Beside n_blocks and `blocks`, which are those of the layers that see farthest: they alone decide who waits.
  std::vector<KvWindowState> windows;
  std::uint64_t next_event = 0;  ///< SchedulerEvent::sequence of the next event to come
  double kv_usage() const { return n_blocks == 0 ? 0.0 : static_cast<double>(n_blocks_used) / n_blocks; }
};

}  // namespace lathe::engine
