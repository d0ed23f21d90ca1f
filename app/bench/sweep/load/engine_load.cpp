// SPDX-License-Identifier: Apache-2.0
// Runs a workload on an engine of this process.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "app/bench/sweep/load/load_generator.h"
#include "app/bench/sweep/load/request_plan.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

/// Signal from the engine's thread to the load generator's.
struct Arrivals {
  std::mutex mutex;
  std::condition_variable changed;
  bool any = false;
};

/// A request that is running. Its wake-up callback runs on the engine's thread and records the time of each step's token.
struct Flight {
  std::size_t index = 0;
  SentRequest* record = nullptr;
  std::int64_t output_tokens = 0;  ///< planned length of the answer
  bool has_next = false;
  std::vector<std::int32_t> said{};  ///< prompt and answer so far, if another turn continues them
  engine::RequestHandlePtr handle;
  std::mutex mutex;
  std::vector<RunClock::time_point> wakes;
  std::size_t n_late = 0;  ///< wake-ups that are outstanding for tokens that were already read
};

class EngineSink final : public LoadSink {
 public:
  EngineSink(engine::Engine& engine, const SweepWorkload& workload, const engine::SamplingParams& sampling,
             std::uint64_t seed, RunClock::time_point start)
      : engine_(engine), workload_(workload), sampling_(sampling), seed_(seed), start_(start) {
    sampling_.ignore_eos = true;
  }
  EngineSink(const EngineSink&) = delete;
  EngineSink& operator=(const EngineSink&) = delete;
  /// Removes the callbacks first: no wake-up may come after the destruction.
  ~EngineSink() override {
    for (const auto& flight : flights_) {
      if (flight->handle == nullptr) continue;
      flight->handle->on_wake({});
      flight->handle->cancel();
    }
  }

  Result<void> send(std::size_t index, const PlannedRequest& planned, SentRequest& record) override {
    engine::GenerateRequest request;
    request.source = "bench";
    request.cache_salt = salt_;
    LATHE_TRY(request.prompt_token_ids, prompt_of(index, planned));
    LATHE_TRY(const std::int64_t n_output, fitted(request.prompt_token_ids, planned.output_tokens, record));
    request.sampling = sampling_;
    request.sampling.max_tokens = n_output;
    request.sampling.seed = static_cast<std::int64_t>((seed_ + index) & 0x7fff'ffff);
    auto flight = std::make_unique<Flight>();
    flight->index = index;
    flight->record = &record;
    flight->output_tokens = n_output;
    flight->has_next = planned.has_next();
    if (flight->has_next) flight->said = request.prompt_token_ids;
    LATHE_TRY(flight->handle, engine_.submit(std::move(request)));
    flight->handle->on_wake([this, flight = flight.get()] {
      {
        const std::lock_guard lock(flight->mutex);
        flight->wakes.push_back(RunClock::now());
      }
      const std::lock_guard lock(arrivals_.mutex);
      arrivals_.any = true;
      arrivals_.changed.notify_one();
    });
    flights_.push_back(std::move(flight));
    return {};
  }

  Result<std::vector<std::size_t>> take_news(std::chrono::duration<double> at_most) override {
    {
      std::unique_lock lock(arrivals_.mutex);
      arrivals_.changed.wait_for(lock, at_most, [this] { return arrivals_.any; });
      arrivals_.any = false;
    }
    std::vector<std::size_t> ended_ones;  // indices of the requests that have ended
    for (std::size_t i = 0; i < flights_.size();) {
      LATHE_TRY(const bool ended, read(*flights_[i]));
      if (ended) {
        flights_[i]->handle->on_wake({});
        if (flights_[i]->has_next) said_[flights_[i]->index + 1] = std::move(flights_[i]->said);
        ended_ones.push_back(flights_[i]->index);
        flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    return ended_ones;
  }

 private:
  double now() const { return std::chrono::duration<double>(RunClock::now() - start_).count(); }

  Result<std::vector<std::int32_t>> prompt_of(std::size_t index, const PlannedRequest& planned) {
    const bool begins = planned.turn == 0;
    if (begins && !planned.text.empty()) return engine_.tokenizer().encode(planned.text, true, true);
    const auto n = static_cast<std::size_t>(planned.prompt_tokens);
    std::vector<std::int32_t> ids =
        begins ? shared_ids(workload_.shared_of(planned.prompt_tokens)) : std::move(said_.extract(index).mapped());
    std::vector<std::int32_t> own;
    if (!planned.text.empty()) {
      LATHE_TRY(own, engine_.tokenizer().encode(kTurnBreak + planned.text, false, true));
    } else {
      own = drawn_ids(index, planned, static_cast<std::int64_t>(begins ? n - ids.size() : n));
    }
    ids.insert(ids.end(), own.begin(), own.end());
    return ids;
  }

  /// Returns the common prefix of all prompts: that of a longer prompt extends that of a shorter one.
  std::vector<std::int32_t> shared_ids(std::size_t n) {
    if (shared_.size() < n) shared_ = random_ids(Purpose::shared, 0, static_cast<std::int64_t>(n));
    return {shared_.begin(), shared_.begin() + static_cast<std::ptrdiff_t>(n)};
  }

  /// Returns the length of the answer; with too_long=cut the prompt is shortened so that both fit into the context.
  Result<std::int64_t> fitted(std::vector<std::int32_t>& prompt, std::int64_t n_output, SentRequest& record) const {
    const std::int64_t room = engine_.model().max_model_len;
    if (static_cast<std::int64_t>(prompt.size()) + n_output <= room) return n_output;
    if (workload_.too_long == "fail") {
      return engine::fail(ErrorCode::invalid_argument,
                          fmt::format("a prompt of {} and an answer of {} tokens do not fit into the context of {}; "
                                      "too_long=cut shortens them to what fits",
                                      prompt.size(), n_output, room),
                          "max_model_len");
    }
    record.is_cut = true;
    n_output = std::min(n_output, std::max<std::int64_t>(1, room / 2));
    prompt.resize(std::min(prompt.size(), static_cast<std::size_t>(room - n_output)));
    return n_output;
  }

  std::vector<std::int32_t> drawn_ids(std::size_t index, const PlannedRequest& planned, std::int64_t n) const {
    std::vector<std::int32_t> ids;
    for (const std::int64_t block : planned.blocks) {
      const auto more = random_ids(Purpose::blocks, static_cast<std::size_t>(block), kTraceBlock);
      ids.insert(ids.end(), more.begin(), more.end());
    }
    if (planned.blocks.empty()) return random_ids(Purpose::prompts, index, n);
    ids.resize(static_cast<std::size_t>(n));
    return ids;
  }

  Result<bool> read(Flight& flight) {
    SentRequest& record = *flight.record;
    engine::TokenEvent event;
    if (!flight.handle->poll(event)) return false;
    note_times(flight, record, event.token_ids.size());
    if (flight.has_next) flight.said.insert(flight.said.end(), event.token_ids.begin(), event.token_ids.end());
    for (const std::int32_t id : event.token_ids)
      record.answer = (record.answer ^ static_cast<std::uint32_t>(id)) * kFnvPrime;
    if (!event.finished) return false;
    if (event.error) return tl::unexpected(*event.error);
    record.end = record.token_times.empty() ? now() : record.token_times.back();
    record.usage = event.usage;
    record.timings = event.timings;
    if (record.usage.n_completion_tokens != flight.output_tokens) {
      return engine::fail(
          ErrorCode::invalid_argument,
          fmt::format("an answer ended after {} of {} tokens ({}): its context is full, or a stop condition ended it",
                      record.usage.n_completion_tokens, flight.output_tokens, engine::name_of(event.finish_reason)),
          "output_tokens");
    }
    return true;
  }

  /// Assigns a time to each token. A step yields one token at most; a token whose wake-up was not seen gets the current
  /// time.
  void note_times(Flight& flight, SentRequest& record, std::size_t n_tokens) {
    std::vector<RunClock::time_point> wakes;
    {
      const std::lock_guard lock(flight.mutex);
      wakes.swap(flight.wakes);
    }
    // A token may be read before its wake-up comes: that wake-up belongs to none of the later tokens.
    const std::size_t n_late = std::min(flight.n_late, wakes.size());
    wakes.erase(wakes.begin(), wakes.begin() + static_cast<std::ptrdiff_t>(n_late));
    flight.n_late -= n_late;
    if (wakes.size() < n_tokens) flight.n_late += n_tokens - wakes.size();
    const RunClock::time_point last = RunClock::now();
    for (std::size_t i = 0; i < n_tokens; ++i) {
      const RunClock::time_point at = i < wakes.size() ? wakes[i] : last;
      record.token_times.push_back(std::chrono::duration<double>(at - start_).count());
    }
  }

  std::vector<std::int32_t> random_ids(Purpose purpose, std::size_t index, std::int64_t n) const {
    std::mt19937_64 random = random_for(seed_, purpose, index);
    std::uniform_int_distribution<std::int32_t> any(0, engine_.tokenizer().vocab_size() - 1);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::max<std::int64_t>(0, n)));
    for (std::int32_t& id : ids) id = any(random);
    return ids;
  }

  engine::Engine& engine_;
  const SweepWorkload& workload_;
  engine::SamplingParams sampling_;
  const std::uint64_t seed_;
  const RunClock::time_point start_;
  const std::string salt_ = fmt::format("sweep {}", start_.time_since_epoch().count());
  std::vector<std::int32_t> shared_;  ///< longest shared prefix so far
  Arrivals arrivals_;
  std::vector<std::unique_ptr<Flight>> flights_;
  std::map<std::size_t, std::vector<std::int32_t>> said_;  ///< conversation before the turn of that index
};

/// Peak of the occupied blocks. Every step has rows of a request, whose timings record the blocks in use, so no peak is
/// missed between two snapshots of the engine.
double kv_usage_peak(const RunRecord& record, std::int64_t n_blocks) {
  std::int64_t peak = 0;
  for (const SentRequest& request : record.requests) peak = std::max(peak, request.timings.peak_blocks);
  return n_blocks > 0 ? static_cast<double>(peak) / static_cast<double>(n_blocks) : 0;
}

void count_since(const engine::EngineCounters& before, const engine::EngineCounters& now, RunRecord& record) {
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  };
  const std::uint64_t padding = now.n_padding_tokens - before.n_padding_tokens;
  // The last token of each answer is generated and never computed as input.
  const std::uint64_t written = now.n_generation_tokens - before.n_generation_tokens;
  const std::uint64_t wanted =
      now.n_prefill_tokens - before.n_prefill_tokens + written - std::min<std::uint64_t>(written, record.requests.size());
  const std::uint64_t held = now.n_kv_held - before.n_kv_held;
  record.n_preemptions = static_cast<double>(now.n_preemptions - before.n_preemptions);
  record.padding = share(padding, padding + wanted);
  record.kv_reserved = share(now.n_kv_reserved - before.n_kv_reserved, held);
  record.kv_unfilled = share(now.n_kv_unfilled - before.n_kv_unfilled, held);
}

}  // namespace

Result<RunRecord> run_load(engine::Engine& engine, const SweepWorkload& workload,
                           const std::vector<PlannedRequest>& requests, const engine::SamplingParams& sampling,
                           std::uint64_t seed, const std::function<bool()>& go_on) {
  const RunClock::time_point start = RunClock::now();
  EngineSink sink(engine, workload, sampling, seed, start);
  const engine::EngineCounters before = engine.snapshot()->counters;
  LATHE_TRY(RunRecord record, run_load(sink, workload, requests, start, go_on));
  record.kv_usage_peak = kv_usage_peak(record, engine.model().n_blocks);
  count_since(before, engine.snapshot()->counters, record);
  return record;
}

}  // namespace lathe::app
