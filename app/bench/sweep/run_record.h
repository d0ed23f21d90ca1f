// SPDX-License-Identifier: Apache-2.0
// RunRecord: what was sent in a run, and when what came back.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "app/api/sweep_trial.h"
#include "engine/api/request.h"

namespace lathe::app {

/// What could not be seen.
inline constexpr double kUnseen = std::numeric_limits<double>::quiet_NaN();

/// A request before it is sent. Units: seconds, times from the begin of the run.
struct PlannedRequest {
  double scheduled = 0;  ///< of open loads
  std::int64_t prompt_tokens = 0, output_tokens = 0;
  std::string text;  ///< of a dataset; empty: a prompt of prompt_tokens is drawn
  /// Of its conversation, whose turns stand one behind the other in a plan. Text and prompt_tokens of all but the first are
  /// what is new; what was said before, answers included, stands before it.
  std::int64_t turn = 0, n_turns = 1;
  double think_time = 0;  ///< between the answer before and this turn
  /// Of a trace: the blocks of kTraceBlock tokens that its prompt begins with; the same number is the same tokens.
  std::vector<std::int64_t> blocks{};

  bool has_next() const { return turn + 1 < n_turns; }
};
inline constexpr std::int64_t kTraceBlock = 512;
/// Stands between an answer and the text of the next turn.
inline constexpr const char* kTurnBreak = "\n";

/// One request. Units: seconds from the begin of the run.
struct SentRequest {
  double scheduled = 0;             ///< when it was to be sent: what is late counts as waiting
  std::uint64_t answer = 0;         ///< a checksum of its tokens
  std::vector<double> token_times;  ///< of a server that does not name its tokens: of the pieces of its text
  double end = 0;
  engine::Usage usage;
  bool is_cut = false;       ///< prompt or answer, to what the context holds
  bool has_usage = true;     ///< else tokens of an answer are the pieces of its stream, those of a prompt as planned
  bool knows_cached = true;  ///< a server may not say how many tokens its prefix cache had
  engine::RequestTimings timings;
};

/// What a model's numbers cost in quality, beside the unquantized ones. Units: nats a token, shares of 1.
struct QualityRecord {
  double perplexity = kUnseen, perplexity_ci95 = kUnseen;
  double kl_mean = kUnseen, kl_99 = kUnseen;
  double same_best = kUnseen;
  double seconds = kUnseen;  ///< that it took to measure
};

struct RunRecord {
  std::vector<SentRequest> requests;
  double seconds = 0;  ///< from the first scheduled time to the last end
  // ---- of an engine; kUnseen of a server that is measured from outside
  double kv_usage_peak = kUnseen;  ///< share of all blocks
  double n_preemptions = kUnseen;
  double padding = kUnseen;      ///< share of the computed rows that were nobody's
  double kv_reserved = kUnseen;  ///< share of the held KV room that held nothing
  double kv_unfilled = kUnseen;  ///< and of it, behind the last token of blocks in use
  double load_seconds = kUnseen;
  double weight_bytes = kUnseen;
  double memory_bytes = kUnseen;
  QualityRecord quality;
  bool answers_compare = true;       ///< prompts were those of every other run with this seed
  bool too_many_waited = false;      ///< max_waiting ended it
  double max_rate = kUnseen;         ///< requests a second: the highest that held, of a load of saturation
  std::vector<SweepTrial> trials{};  ///< of that load
};

}  // namespace lathe::app
