// SPDX-License-Identifier: Apache-2.0
// GenerateRequest: a request for one generation, the handle that the caller keeps, and the events that it receives.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/pooling.h"
#include "engine/api/result.h"
#include "engine/api/sampling_params.h"

namespace lathe::engine {

struct AnswerReading;

struct GenerateRequest {
  std::vector<std::int32_t> prompt_token_ids;
  SamplingParams sampling;
  std::string cache_salt;  ///< requests share cached prefixes only under the same salt
  std::string source;      ///< "chat", "server", "bench", "cli": shown in the requests table
  /// False: the prompt is not counted, because another request with the same prompt is (n > 1).
  bool counts_prompt = true;
  /// False: the generated token is not counted, because it is discarded (a prompt that is only scored).
  bool counts_output = true;
  /// Formats of the answer (engine/api/answer_parser.h). If set, stop strings apply only to the answer's content, the
  /// caller's parser cuts the content there, and events contain `marks`. Null: all text is content.
  std::shared_ptr<const AnswerReading> reading{};
  /// If set, the request generates no token: its answer is the vector of the prompt (TokenEvent::vector).
  std::optional<PoolingParams> pooling{};
};

enum class FinishReason : std::uint8_t { none, stop, length, cancelled, error };
/// Cause of FinishReason::stop: the model's end token, one of stop_token_ids, or a stop string.
enum class StopCause : std::uint8_t { none, eos, token, text };
/// OpenAI's names: "stop", "length"; "abort" for cancelled, "error".
std::string_view name_of(FinishReason reason);

struct TokenLogprob {
  std::int32_t id = 0;
  float logprob = 0;
  std::int32_t rank = 0;  ///< tokens of the vocabulary at least as likely, itself included: 1 is the most likely token
};
/// The K most likely tokens at one position, best first; TokenEvent::prompt_logprobs has the actual token before them.
using LogprobList = std::vector<TokenLogprob>;

struct Usage {
  std::int64_t n_prompt_tokens = 0;
  std::int64_t n_cached_tokens = 0;  ///< prompt tokens found in the prefix cache
  std::int64_t n_completion_tokens = 0;
};

/// Units: milliseconds since submit; 0: not reached.
struct RequestTimings {
  double queue_ms = 0;  ///< until first admitted
  double ttft_ms = 0;   ///< until the first token
  double end_ms = 0;    ///< until the last event
  double itl_p50_ms = 0, itl_p99_ms = 0;
  std::int64_t n_preemptions = 0;
  std::int64_t n_recomputed_tokens = 0;  ///< computed tokens that preemption discarded
  std::int64_t peak_blocks = 0;          ///< most KV blocks of all requests together in a step of this request
};

/// A position in a text: the beginning of a marker token, or the point from which stop strings apply.
struct TextMark {
  static constexpr std::int32_t kStopsHold = -1;
  std::size_t at = 0;   ///< bytes before the position
  std::int32_t id = 0;  ///< token id, or kStopsHold
};

/// Everything since the last poll, merged: a slow reader loses nothing, since deltas are joined.
struct TokenEvent {
  std::string text;  ///< complete UTF-8 characters only; if the request has a reading, not cut at a stop string
  std::vector<std::int32_t> token_ids;
  std::vector<LogprobList> logprobs;          ///< if requested, one list for each token: K alternatives, best first
  std::vector<TokenLogprob> chosen_logprobs;  ///< if logprobs are requested, one for each token: the token itself
  /// If logprobs are requested, one for each token: code points of the answer's text before the token. A token without text
  /// has the offset of the next token; a part of a character has the offset of the character. If a stop string was cut,
  /// offsets may exceed the text.
  std::vector<std::int64_t> text_offsets;
  std::vector<LogprobList>
      prompt_logprobs;  ///< once, with the first event; the first list is empty, others begin with the prompt's own token
  bool finished = false;
  FinishReason finish_reason = FinishReason::none;
  StopCause stop_cause = StopCause::none;
  std::string stop_reason;      ///< by stop_cause: "eos", the token id, or the stop string; else empty
  std::optional<Error> error;   ///< set if finish_reason is error
  Usage usage;                  ///< usage so far
  RequestTimings timings;       ///< timings so far
  std::vector<TextMark> marks;  ///< marks in `text`, ascending; only if the request has a reading
  std::vector<float> vector;    ///< with the last event of a request with pooling: the vector of its prompt
};

/// Appends the later event `from` to `to`.
void merge(TokenEvent& to, TokenEvent&& from);

/// The caller's end of a request. Thread: any. Shared between the caller and the engine thread.
class RequestHandle {
 public:
  using Clock = std::chrono::steady_clock;
  /// cancel() also sets `any_cancelled`, so that an engine with a thousand requests checks only one flag.
  explicit RequestHandle(std::uint64_t id, std::shared_ptr<std::atomic<bool>> any_cancelled = {})
      : id_(id), any_cancelled_(std::move(any_cancelled)) {}
  std::uint64_t id() const { return id_; }

  /// Cancels the request; the engine sees it when it plans its next step.
  void cancel() {
    cancelled_.store(true, std::memory_order_relaxed);
    if (any_cancelled_) any_cancelled_->store(true, std::memory_order_release);
  }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  /// Moves the pending event into `event`; false: there is none. No event follows one with `finished`.
  bool poll(TokenEvent& event);
  /// As poll(), but waits up to `timeout` for an event.
  bool wait(TokenEvent& event, std::chrono::milliseconds timeout);
  /// Sets the function that is called on the engine thread, at most once in a step, after events arrived; it must return at
  /// once. It should be set before the first poll; if events are pending already, it is called immediately. An empty
  /// function removes it; when on_wake() returns, the previous function is no longer running.
  void on_wake(std::function<void()> wake);

  /// Merges `delta` into the pending event, then wakes the reader. Thread: the engine's.
  void push(TokenEvent&& delta);

 private:
  const std::uint64_t id_;
  const std::shared_ptr<std::atomic<bool>> any_cancelled_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::mutex wake_mutex_;
  std::condition_variable changed_;
  TokenEvent pending_;
  bool has_pending_ = false;
  std::function<void()> wake_;
};
using RequestHandlePtr = std::shared_ptr<RequestHandle>;

}  // namespace lathe::engine
