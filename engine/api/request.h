// SPDX-License-Identifier: Apache-2.0
// One generation: what is asked, the handle that the caller keeps, and the events that come back.
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

#include "engine/api/result.h"
#include "engine/api/sampling_params.h"

namespace lathe::engine {

struct AnswerReading;

struct GenerateRequest {
  std::vector<std::int32_t> prompt_token_ids;
  SamplingParams sampling;
  std::string cache_salt;  ///< requests share cached prefixes only under the same salt
  std::string source;      ///< "chat", "server", "bench", "cli": shown in the requests table
  /// False: the counters of prompts leave this request out, because another request for the same prompt is counted (n > 1).
  bool counts_prompt = true;
  /// False: the counters of generated tokens leave this request out, because its token is thrown away (a prompt that is
  /// scored).
  bool counts_output = true;
  /// How the answer is read (engine/api/answer_parser.h). With one, stop strings hold for the answer's content alone, and
  /// the caller's parser cuts it there; events bring `marks`. Null: all text is content.
  std::shared_ptr<const AnswerReading> reading{};
};

enum class FinishReason : std::uint8_t { none, stop, length, cancelled, error };
/// What ended an answer with FinishReason::stop: the model's own end token, one of stop_token_ids, or a stop string.
enum class StopCause : std::uint8_t { none, eos, token, text };
/// OpenAI's words: "stop", "length"; "abort" for cancelled, "error".
std::string_view name_of(FinishReason reason);

struct TokenLogprob {
  std::int32_t id = 0;
  float logprob = 0;
  std::int32_t rank = 0;  ///< tokens of the vocabulary that are as likely or more, with this one: 1 is the likeliest
};
/// The chosen (or, of a prompt, the actual) token first when it is asked for by K = 0; otherwise see the field that holds
/// it.
using LogprobList = std::vector<TokenLogprob>;

struct Usage {
  std::int64_t n_prompt_tokens = 0;
  std::int64_t n_cached_tokens = 0;  ///< of the prompt, found in the prefix cache
  std::int64_t n_completion_tokens = 0;
};

/// Units: milliseconds since submit, 0 where not reached.
struct RequestTimings {
  double queue_ms = 0;  ///< until first admitted
  double ttft_ms = 0;   ///< until the first token
  double end_ms = 0;    ///< until the last event
  double itl_p50_ms = 0, itl_p99_ms = 0;
  std::int64_t n_preemptions = 0;
  std::int64_t n_recomputed_tokens = 0;  ///< computed work that preemption threw away
  std::int64_t peak_blocks = 0;          ///< most KV blocks that all requests together held in a step while it ran
};

/// The beginning of a watched token in a text, or the point from where on stop strings hold.
struct TextMark {
  static constexpr std::int32_t kStopsHold = -1;
  std::size_t at = 0;   ///< bytes before it
  std::int32_t id = 0;  ///< of the token, or kStopsHold
};

/// What happened since the last poll, merged: nothing is lost when a reader is slow, deltas are joined.
struct TokenEvent {
  std::string text;  ///< complete UTF-8 characters only; of a request with a reading with what follows a stop string
  std::vector<std::int32_t> token_ids;
  std::vector<LogprobList> logprobs;          ///< one list a token: K alternatives, best first, when asked for
  std::vector<TokenLogprob> chosen_logprobs;  ///< one a token when logprobs are asked for: the token itself
  /// One a token when logprobs are asked for: code points of the answer's text before the token. A token without text has
  /// the offset of the next one, a part of a character that of its begin. A stop string that is cut may leave offsets past
  /// the end.
  std::vector<std::int64_t> text_offsets;
  std::vector<LogprobList>
      prompt_logprobs;  ///< once, with the first event; first list empty; then the prompt's own token first
  bool finished = false;
  FinishReason finish_reason = FinishReason::none;
  StopCause stop_cause = StopCause::none;
  std::string stop_reason;      ///< by the cause: "eos", the id, or the stop string; else empty
  std::optional<Error> error;   ///< with finish_reason error
  Usage usage;                  ///< so far
  RequestTimings timings;       ///< so far
  std::vector<TextMark> marks;  ///< in `text`, ascending; only of a request with a reading
};

/// Joins what came since, `from`, to what was there.
void merge(TokenEvent& to, TokenEvent&& from);

/// The caller's end of a request. Thread: any. Shared between the caller and the engine thread.
class RequestHandle {
 public:
  using Clock = std::chrono::steady_clock;
  /// `any_cancelled` is set by cancel() too, so that an engine with a thousand requests has one flag to look at.
  explicit RequestHandle(std::uint64_t id, std::shared_ptr<std::atomic<bool>> any_cancelled = {})
      : id_(id), any_cancelled_(std::move(any_cancelled)) {}
  std::uint64_t id() const { return id_; }

  /// Seen by the engine at its next plan.
  void cancel() {
    cancelled_.store(true, std::memory_order_relaxed);
    if (any_cancelled_) any_cancelled_->store(true, std::memory_order_release);
  }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  /// Moves what is there into `event`; false when nothing is. After an event with `finished` nothing more comes.
  bool poll(TokenEvent& event);
  /// The same, waiting up to `timeout`.
  bool wait(TokenEvent& event, std::chrono::milliseconds timeout);
  /// `wake` is called on the engine thread, at most once a step, after events arrived; it must return at once.
  /// Set it before the first poll; events that came earlier are announced at once. An empty function takes it away, and
  /// when that call has returned the old one is not running any more.
  void on_wake(std::function<void()> wake);

  /// Thread: the engine's. Merges `delta` with what was not yet read, then wakes the reader.
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
