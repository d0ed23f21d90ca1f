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
#include "engine/text/detokenizer.h"

namespace lathe::engine {

/// What the scheduler knows of a request, and what only the loop knows: its caller, its text and its times.
/// Thread: made on the caller's, with all memory that its tokens will need; then the engine's.
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
  std::vector<LogprobList> prompt_logprobs;  ///< by token of the prompt; given out with the first token

  // ---- the answer
  const std::shared_ptr<const AnswerReading> reading;
  /// Finds stop strings in the content; null: there are none, or all text is content.
  const std::unique_ptr<AnswerParser> content;
  bool stops_hold = false;  ///< min_tokens have come, so that stop strings count
  Detokenizer detokenizer;
  TokenEvent delta;       ///< what the next emit sends
  bool has_news = false;  ///< listed for the emit of this step
  FinishReason finish = FinishReason::none;
  StopCause stop_cause = StopCause::none;
  bool keeps_cache = true;  ///< false: what it computed must not be shared

  // ---- times, of the engine's clock
  const std::int64_t submitted_ns;
  std::int64_t first_token_ns = 0, last_token_ns = 0, end_ns = 0;
  Histogram itl_ms;
  double itl_p50_ms = 0, itl_p99_ms = 0;
  std::size_t place = 0;  ///< among the living ones of the loop

  std::span<const std::int32_t> prompt_ids() const { return std::span(tokens).first(static_cast<std::size_t>(n_prompt)); }
  std::span<const std::int32_t> output_ids() const { return std::span(tokens).subspan(static_cast<std::size_t>(n_prompt)); }

  /// Memory for a table of so many tokens. Thread: the caller's, like the constructor.
  void reserve_blocks(std::int64_t n_tokens, std::int64_t block_size) {
    table.blocks.reserve(static_cast<std::size_t>(n_tokens / block_size + 1));
  }
  /// The same for the rows of the groups of layers that see a window. Thread: as above.
  void reserve_windows(std::size_t n_groups, std::int64_t block_size) {
    table.windows.resize(n_groups);
    for (BlockRow& row : table.windows) row.blocks.reserve(static_cast<std::size_t>(max_total_tokens / block_size + 1));
  }
  /// Chooses how RoPE turns by the tokens that the request may come to have. Thread: as above.
  void choose_rope(std::span<const std::int64_t> contexts);
  /// Takes the sampled token: into the sequence, the event and the times; ends the answer where an id or a length does.
  void accept_sample(std::span<const std::int32_t> eos_ids, std::int64_t now_ns);
  /// Adds the text of the last token; ends the answer where a stop string does.
  void add_text();
  /// Index of the stop string that ends the answer with its last token; -1: none does.
  int find_stop();
  void stop(StopCause cause, std::string reason);
  void end(FinishReason reason);
  void end_with(Error error);
  void cancel();
  /// A row of this step, or of the prompt so far, cannot be used. `samples`: the step gave a token.
  bool lacks_probabilities(bool samples) const {
    return (samples && sampled.failed) || prompt_failed.load(std::memory_order_relaxed);
  }
  /// Usage and times into the event.
  void complete_delta(std::int64_t now_ns);
};

}  // namespace lathe::engine
