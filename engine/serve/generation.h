// SPDX-License-Identifier: Apache-2.0
// Generation: a request inside the engine, from submit to its last event.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/api/answer_parser.h"
#include "engine/api/request.h"
#include "engine/api/scheduler_event.h"
#include "engine/base/histogram.h"
#include "engine/sample/sampler.h"
#include "engine/schedule/sequence.h"
#include "engine/serve/answer_constraint.h"
#include "engine/text/detokenizer.h"

namespace lathe::engine {

/// The scheduler's state of a request (Sequence), and the loop's: caller, text and times.
/// Thread: constructed on the caller's thread, with all memory for its tokens; then used on the engine's.
struct Generation final : Sequence {
  /// `context`: tokens that prompt and answer may have together.
  Generation(GenerateRequest&& request, RequestHandlePtr caller, const Tokenizer& tokenizer, std::uint64_t drawn_seed,
             std::int64_t context, int block_size, std::int64_t now_ns);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  const RequestHandlePtr handle;
  const std::int64_t max_total_tokens;  ///< prompt and answer together
  const SamplingParams params;
  const bool counts_prompt, counts_output;  ///< see GenerateRequest
  const std::string source;
  const std::uint64_t seed;

  // ---- written by the sampler's threads, each its own rows
  SampleOutput sampled;
  std::atomic<bool> prompt_failed{false};  ///< a row of the prompt had no probabilities
  LogprobList alternatives;
  std::vector<LogprobList> prompt_logprobs;  ///< one per prompt token; sent with the first token

  const std::optional<PoolingParams> pooling;  ///< if set, the answer is a vector
  std::vector<float> pooled;                   ///< the pooled state, written by the sampler

  std::unique_ptr<AnswerConstraint> constraint;  ///< null: the answer is free
  bool jumps_ahead = false;                      ///< forced tokens are appended without a step for each

  // ---- the answer
  const std::shared_ptr<const AnswerReading> reading;
  /// Finds stop strings in the content; null: there are none, or all text is content.
  const std::unique_ptr<AnswerParser> content;
  bool stops_hold = false;  ///< min_tokens are reached, so stop strings count
  Detokenizer detokenizer;
  TokenEvent delta;       ///< the event that the next emit sends
  bool has_news = false;  ///< listed for the emit of this step
  FinishReason finish = FinishReason::none;
  StopCause stop_cause = StopCause::none;
  bool keeps_cache = true;  ///< false: its KV blocks must not be shared

  // ---- times, of the engine's clock
  const std::int64_t submitted_ns;
  std::int64_t first_token_ns = 0, last_token_ns = 0, end_ns = 0;
  Histogram itl_ms;
  double itl_p50_ms = 0, itl_p99_ms = 0;
  std::int64_t next_quantiles = 1;  ///< tokens of the answer with which the quantiles are updated next
  std::size_t place = 0;            ///< index in the loop's list of living generations

  std::span<const std::int32_t> prompt_ids() const { return std::span(tokens).first(static_cast<std::size_t>(n_prompt)); }
  std::span<const std::int32_t> output_ids() const { return std::span(tokens).subspan(static_cast<std::size_t>(n_prompt)); }

  /// Reserves memory for a block table of n_tokens. Thread: the caller's, like the constructor.
  void reserve_blocks(std::int64_t n_tokens, std::int64_t block_size) {
    table.blocks.reserve(static_cast<std::size_t>(n_tokens / block_size + 1));
  }
  /// Reserves block table rows for the groups of layers with a window. Thread: the caller's.
  void reserve_windows(std::size_t n_groups, std::int64_t block_size) {
    table.windows.resize(n_groups);
    for (BlockRow& row : table.windows) row.blocks.reserve(static_cast<std::size_t>(max_total_tokens / block_size + 1));
  }
  /// Chooses the RoPE context by the tokens that the request may reach. Thread: the caller's.
  void choose_rope(std::span<const std::int64_t> contexts);
  /// Constrains the answer. Thread: the caller's.
  void constrain(ReadyConstraint ready, const Tokenizer& tokenizer, std::span<const std::int32_t> eos_ids,
                 std::span<const std::int32_t> suppressed_ids);
  /// Adds the sampled token to the sequence, the event and the times; ends the answer at an end token or a length limit.
  void accept_sample(std::span<const std::int32_t> eos_ids, std::int64_t now_ns);
  /// Appends the tokens that the constraint forces next, and their text, until one of them ends the answer. Returns their
  /// number. Requires: the constraint has read the last token, whose text is added.
  int jump_ahead(std::span<const std::int32_t> eos_ids);
  /// Ends the request with a vector.
  void accept_vector(std::vector<float> vector, std::int64_t now_ns);
  /// Adds the text of the last token; ends the answer at a stop string.
  void add_text();
  /// Index of the stop string that ends the answer with its last token; -1: none does.
  int find_stop();
  /// Adds a token to the sequence and the event; ends the answer at an end token or a length limit.
  void append(std::int32_t token, std::span<const std::int32_t> eos_ids);
  void stop(StopCause cause, std::string reason);
  void end(FinishReason reason);
  void end_with(Error error);
  void cancel();
  /// Whether a prompt was read to its end.
  bool has_answer() const { return n_output() > 0 || !delta.vector.empty(); }
  /// Whether a row of this step, or of the prompt so far, has no usable probabilities. `samples`: the step sampled a token.
  bool lacks_probabilities(bool samples) const {
    return (samples && sampled.failed) || prompt_failed.load(std::memory_order_relaxed);
  }
  /// Why such a row ends the request.
  Error sampling_error() const;
  /// Writes usage and times to the event.
  void complete_delta(std::int64_t now_ns);
};

}  // namespace lathe::engine
