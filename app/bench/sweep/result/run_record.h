// SPDX-License-Identifier: Apache-2.0
// RunRecord: the requests that a run sent, the times at which their tokens came, and measurements of the engine.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "app/api/sweep_trial.h"
#include "engine/api/request.h"

namespace lathe::app {

/// Value of a metric that could not be observed.
inline constexpr double kUnseen = std::numeric_limits<double>::quiet_NaN();

/// A request before it is sent. Units: seconds since the begin of the run.
struct PlannedRequest {
  double scheduled = 0;  ///< send time in open loads
  std::int64_t prompt_tokens = 0, output_tokens = 0;
  std::string text;  ///< text of a dataset; empty: a prompt of prompt_tokens is drawn
  /// Index in its conversation and number of turns. The turns of a conversation are consecutive in a plan. From the second
  /// turn on, text and prompt_tokens are only the new part of the prompt, which begins with the conversation so far, answers
  /// included.
  std::int64_t turn = 0, n_turns = 1;
  double think_time = 0;  ///< from the end of the previous answer to this turn
  /// Block ids of a trace: the prompt begins with these blocks of kTraceBlock tokens; equal ids mean equal tokens.
  std::vector<std::int64_t> blocks{};

  bool has_next() const { return turn + 1 < n_turns; }
};
inline constexpr std::int64_t kTraceBlock = 512;
/// Separates an answer from the text of the next turn.
inline constexpr const char* kTurnBreak = "\n";

/// A request that was sent. Units: seconds since the begin of the run.
struct SentRequest {
  double scheduled = 0;             ///< due time: latencies count from it, so that a late send counts as waiting
  std::uint64_t answer = 0;         ///< checksum of the answer's tokens
  std::vector<double> token_times;  ///< arrival of each token; of each piece of text if the server does not name its tokens
  double end = 0;
  engine::Usage usage;
  bool is_cut = false;       ///< prompt or answer were shortened to fit into the context
  bool has_usage = true;     ///< false: answer tokens are counted as pieces of the stream, prompt tokens as planned
  bool knows_cached = true;  ///< false: the server does not report how many prompt tokens its prefix cache had
  engine::RequestTimings timings;
};

/// Loss of quality by quantization, relative to the unquantized model. Units: nats per token; shares of 1.
struct QualityRecord {
  double perplexity = kUnseen, perplexity_ci95 = kUnseen;
  double kl_mean = kUnseen, kl_99 = kUnseen;
  double same_best = kUnseen;
  double seconds = kUnseen;  ///< duration of the measurement
};

struct RunRecord {
  std::vector<SentRequest> requests;
  double seconds = 0;  ///< from the first scheduled time to the last end
  // ---- measured in an engine of this process; kUnseen on a server that is measured from outside
  double kv_usage_peak = kUnseen;  ///< share of all blocks
  double n_preemptions = kUnseen;
  double padding = kUnseen;      ///< share of the computed rows that are padding
  double kv_reserved = kUnseen;  ///< share of the allocated KV tokens that are reserved and empty
  /// Share of the allocated KV tokens that are empty slots after the last token of a block in use.
  double kv_unfilled = kUnseen;
  double load_seconds = kUnseen;
  double weight_bytes = kUnseen;
  double memory_bytes = kUnseen;
  QualityRecord quality;
  bool answers_compare = true;       ///< prompts equal those of every other run with this seed
  bool too_many_waited = false;      ///< max_waiting ended the run
  double max_rate = kUnseen;         ///< load saturation: highest rate that held. Units: requests per second
  std::vector<SweepTrial> trials{};  ///< load saturation: trials of the search
};

}  // namespace lathe::app
