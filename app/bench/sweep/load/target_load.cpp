// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/target_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "app/bench/sweep/load/target_stream.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::Result;

tl::unexpected<engine::Error> broken_turn(std::string message) {
  return engine::fail(ErrorCode::unavailable, std::move(message));
}

/// Appends the answer to its prompt, as text or as token ids, whichever the prompt is.
Result<Json> answered(Json prompt, const TargetStream& stream) {
  if (prompt.is_string()) return Json(prompt.get<std::string>() + stream.text());
  if (stream.token_ids().empty())
    return broken_turn("the stream does not report its tokens, but the next turn must begin with them");
  for (const std::int32_t id : stream.token_ids()) prompt.push_back(id);
  return prompt;
}

/// Appends the new part of a turn to the conversation so far.
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
  /// Abandons running calls: nothing may be written to a record after the destruction.
  ~TargetSink() override {
    if (!flights_.empty()) session_.client().abandon();
  }

  Result<void> send(std::size_t index, const PlannedRequest& planned, SentRequest& record) override {
    engine::SamplingParams sampling = sampling_;
    sampling.seed = (seed_ + index) & 0x7fff'ffff;
    const auto stream = std::make_shared<TargetStream>(record, start_, planned.prompt_tokens);
    Json prompt = prompts_[index];
    if (planned.turn > 0) prompt = after(std::move(said_.extract(index).mapped()), prompt);
    session_.client().start(
        session_.completion(prompt, sampling, planned.output_tokens, salt_),
        {.on_head = [stream](const http::AnswerHead& head) { stream->take_head(head); },
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
    Json prompt;  ///< null unless another turn continues it
    std::shared_ptr<TargetStream> stream;
  };

  TargetSession& session_;
  const std::vector<Json>& prompts_;
  const engine::SamplingParams sampling_;
  const std::uint64_t seed_;
  const RunClock::time_point start_;
  const std::string salt_ = fmt::format("sweep {}", start_.time_since_epoch().count());
  std::vector<Flight> flights_;
  std::map<std::size_t, Json> said_;  ///< conversation before the turn of that index
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
