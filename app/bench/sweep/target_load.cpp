// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/target_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "app/bench/sweep/sse_reader.h"
#include "app/log/printable.h"
#include "app/server/error_status.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::Result;

constexpr std::uint64_t kFnvPrime = 0x100000001b3;
constexpr std::size_t kMostErrorBody = 64u << 10;

tl::unexpected<engine::Error> broken(std::string message) {
  return engine::fail(ErrorCode::unavailable, std::move(message));
}

/// A stream on its way, read as it comes.
class Stream {
 public:
  Stream(SentRequest& record, RunClock::time_point start) : record_(record), start_(start) {}

  void take_head(int status) { status_ = status; }
  void take_piece(std::string_view bytes) {
    if (problem_) return;
    if (status_ != 200) {
      if (refusal_.size() < kMostErrorBody) refusal_ += bytes;
      return;
    }
    if (const Result<void> read = take_events(bytes); !read) problem_ = read.error();
  }
  void take_end(const std::optional<engine::Error>& problem) {
    is_over_ = true;
    if (!problem_) problem_ = problem;
    if (problem_) return;
    if (status_ != 200) {
      problem_ = engine::Error{code_of(status_), refusal_words(status_, refusal_), {}};
    } else if (const Result<void> whole = check_whole(); !whole) {
      problem_ = whole.error();
    }
  }

  bool is_over() const { return is_over_; }
  /// What was answered, in the kind of its prompt.
  const std::string& text() const { return text_; }
  const std::vector<std::int32_t>& token_ids() const { return token_ids_; }
  const std::optional<engine::Error>& problem() const { return problem_; }

 private:
  Result<void> take_events(std::string_view bytes) {
    const double now = std::chrono::duration<double>(RunClock::now() - start_).count();
    LATHE_TRY(const std::vector<std::string> events, reader_.add(bytes));
    has_event_ = has_event_ || !events.empty();
    for (const std::string& data : events) {
      if (data == "[DONE]") {
        has_done_ = true;
        continue;
      }
      const auto event = engine::parse_json(data, "event");
      if (!event || !event->is_object())
        return broken(fmt::format("an event of the stream is no JSON object: {}", printable(data, 80)));
      if (event->contains("error")) return engine::fail(ErrorCode::internal, refusal_words(status_, data));
      take_tokens(*event, now);
    }
    return {};
  }

  void take_tokens(const Json& event, double now) {
    if (event.contains("usage") && event["usage"].is_object()) take_usage(event["usage"]);
    if (!event.contains("choices") || !event["choices"].is_array() || event["choices"].empty() ||
        !event["choices"][0].is_object())
      return;
    const Json& choice = event["choices"][0];
    const bool names_tokens = choice.contains("token_ids") && choice["token_ids"].is_array();
    const std::string text =
        choice.contains("text") && choice["text"].is_string() ? choice["text"].get<std::string>() : std::string();
    const std::size_t n = names_tokens ? choice["token_ids"].size() : text.empty() ? 0 : 1;
    record_.token_times.insert(record_.token_times.end(), n, now);
    text_ += text;
    for (std::size_t i = 0; names_tokens && i < n; ++i) {
      if (choice["token_ids"][i].is_number_integer()) token_ids_.push_back(choice["token_ids"][i].get<std::int32_t>());
    }
    for (const char c : text) record_.answer = (record_.answer ^ static_cast<unsigned char>(c)) * kFnvPrime;
  }

  void take_usage(const Json& usage) {
    const auto count = [&](const Json& from, const char* name) {
      return from.contains(name) && from[name].is_number_integer() ? from[name].get<std::int64_t>() : 0;
    };
    record_.usage.n_prompt_tokens = count(usage, "prompt_tokens");
    record_.usage.n_completion_tokens = count(usage, "completion_tokens");
    record_.knows_cached = usage.contains("prompt_tokens_details") && usage["prompt_tokens_details"].is_object();
    if (record_.knows_cached) {
      record_.usage.n_cached_tokens = count(usage["prompt_tokens_details"], "cached_tokens");
    }
    has_usage_ = true;
  }

  Result<void> check_whole() {
    if (!has_event_) return broken("no server-sent events came: the server does not stream");
    if (!has_done_)
      return broken(
          fmt::format("the stream ended before its end{}", reader_.is_at_end() ? "" : ", in the middle of an event"));
    if (!has_usage_)
      return engine::fail(ErrorCode::unsupported,
                          "the stream has no usage: the server does not take stream_options.include_usage");
    if (record_.token_times.empty()) return broken("an answer came without a token");
    record_.end = record_.token_times.back();
    return {};
  }

  SentRequest& record_;
  const RunClock::time_point start_;
  SseReader reader_;
  int status_ = 0;
  std::string refusal_, text_;
  std::vector<std::int32_t> token_ids_;
  bool has_event_ = false, has_done_ = false, has_usage_ = false, is_over_ = false;
  std::optional<engine::Error> problem_;
};

/// A prompt and its answer, in the kind of the prompt: text or tokens.
Result<Json> answered(Json prompt, const Stream& stream) {
  if (prompt.is_string()) return Json(prompt.get<std::string>() + stream.text());
  if (stream.token_ids().empty())
    return broken("the stream does not name its tokens, and the next turn would begin with them");
  for (const std::int32_t id : stream.token_ids()) prompt.push_back(id);
  return prompt;
}

/// What was said, and what is new.
Json after(Json said, const Json& more) {
  if (said.is_string()) return Json(said.get<std::string>() + kTurnBreak + more.get<std::string>());
  said.insert(said.end(), more.begin(), more.end());
  return said;
}

class TargetSink final : public LoadSink {
 public:
  TargetSink(TargetSession& session, const std::vector<Json>& prompts, const engine::SamplingParams& sampling,
             std::uint64_t seed, RunClock::time_point start)
      : session_(session), prompts_(prompts), sampling_(sampling), seed_(seed), start_(start) {}
  TargetSink(const TargetSink&) = delete;
  TargetSink& operator=(const TargetSink&) = delete;
  /// Nothing may be written to a record after this.
  ~TargetSink() override {
    if (!flights_.empty()) session_.client().abandon();
  }

  Result<void> send(std::size_t index, const PlannedRequest& planned, SentRequest& record) override {
    engine::SamplingParams sampling = sampling_;
    sampling.seed = (seed_ + index) & 0x7fff'ffff;
    const auto stream = std::make_shared<Stream>(record, start_);
    Json prompt = prompts_[index];
    if (planned.turn > 0) prompt = after(std::move(said_.extract(index).mapped()), prompt);
    session_.client().start(
        session_.completion(prompt, sampling, planned.output_tokens, salt_),
        {.on_head = [stream](int status) { stream->take_head(status); },
         .on_piece = [stream](std::string_view bytes) { stream->take_piece(bytes); },
         .on_end = [stream](const std::optional<engine::Error>& problem) { stream->take_end(problem); }});
    flights_.push_back({index, planned.has_next() ? std::move(prompt) : Json(), stream});
    return {};
  }

  Result<std::vector<std::size_t>> take_news(std::chrono::duration<double> at_most) override {
    session_.client().run_for(std::chrono::duration_cast<std::chrono::nanoseconds>(at_most));
    std::vector<std::size_t> ended;
    for (Flight& flight : flights_) {
      if (flight.stream->problem()) return tl::unexpected(*flight.stream->problem());
      if (!flight.stream->is_over()) continue;
      ended.push_back(flight.index);
      if (flight.prompt.is_null()) continue;
      LATHE_TRY(said_[flight.index + 1], answered(std::move(flight.prompt), *flight.stream));
    }
    std::erase_if(flights_, [](const Flight& flight) { return flight.stream->is_over(); });
    return ended;
  }

 private:
  struct Flight {
    std::size_t index;
    Json prompt;  ///< where another turn goes on with it
    std::shared_ptr<Stream> stream;
  };

  TargetSession& session_;
  const std::vector<Json>& prompts_;
  const engine::SamplingParams sampling_;
  const std::uint64_t seed_;
  const RunClock::time_point start_;
  const std::string salt_ = fmt::format("sweep {}", start_.time_since_epoch().count());
  std::vector<Flight> flights_;
  std::map<std::size_t, Json> said_;  ///< before the turn of that index
};

}  // namespace

Result<RunRecord> run_load(TargetSession& session, const SweepWorkload& workload,
                           const std::vector<PlannedRequest>& requests, const engine::SamplingParams& sampling,
                           std::uint64_t seed, const std::function<bool()>& go_on) {
  LATHE_TRY(const std::vector<Json> prompts, session.prompts_of(workload, requests, seed, go_on));
  const RunClock::time_point start = RunClock::now();
  TargetSink sink(session, prompts, sampling, seed, start);
  LATHE_TRY(RunRecord record, run_load(sink, workload, requests, start, go_on));
  record.answers_compare = record.answers_compare && !workload.dataset.empty();
  return record;
}

}  // namespace lathe::app
