// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>

namespace lathe::app {
namespace {

using Clock = std::chrono::steady_clock;
using engine::ErrorCode;
using engine::Result;

constexpr std::chrono::milliseconds kPatience{50};
/// What numbers are drawn for.
enum : std::uint64_t { kTimes, kLengths, kShared, kFirstPrompt };
constexpr std::uint64_t kFnvPrime = 0x100000001b3;

/// What the engine's thread tells the generator's.
struct Arrivals {
  std::mutex mutex;
  std::condition_variable changed;
  bool any = false;
};

/// A request on its way. Wake-ups come on the engine's thread: they keep the time of each step's token.
struct Flight {
  std::size_t index = 0;
  engine::RequestHandlePtr handle;
  std::mutex mutex;
  std::vector<Clock::time_point> wakes;
  std::size_t n_late = 0;  ///< wake-ups still to come for tokens that have been read
};

class LoadRun {
 public:
  LoadRun(engine::Engine& engine, const SweepWorkload& workload, const engine::SamplingParams& sampling, std::uint64_t seed,
          const std::function<bool()>& go_on)
      : engine_(engine), workload_(workload), sampling_(sampling), seed_(seed), go_on_(go_on) {
    sampling_.ignore_eos = true;
  }

  LoadRun(const LoadRun&) = delete;
  LoadRun& operator=(const LoadRun&) = delete;
  /// No wake-up may come after this.
  ~LoadRun() {
    for (const auto& flight : flights_) {
      if (flight->handle == nullptr) continue;
      flight->handle->on_wake({});
      flight->handle->cancel();
    }
  }

  Result<RunRecord> run() {
    record_.requests.resize(static_cast<std::size_t>(workload_.n_requests()));
    plan_sends();
    draw_lengths();
    shared_ = random_ids(kShared, static_cast<std::int64_t>(workload_.shared_prefix * static_cast<double>(workload_.prompt_tokens)));
    const engine::EngineCounters before = engine_.snapshot()->counters;
    LATHE_TRY_VOID(drive());
    double first = record_.requests.front().scheduled, last = 0;
    for (const SentRequest& request : record_.requests) {
      first = std::min(first, request.scheduled);
      last = std::max(last, request.end);
    }
    record_.seconds = last - first;
    count_since(before);
    return std::move(record_);
  }

 private:
  double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool is_open() const { return workload_.pattern() != LoadPattern::concurrency; }

  /// Numbers of their own for each purpose: another load or number of requests leaves prompts and lengths as they are.
  std::mt19937_64 random_for(std::uint64_t purpose) const {
    std::seed_seq seeds{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32),
                        static_cast<std::uint32_t>(purpose)};
    return std::mt19937_64(seeds);
  }

  /// Of open loads: the times are fixed before anything is sent.
  void plan_sends() {
    if (!is_open()) return;
    std::mt19937_64 random = random_for(kTimes);
    std::exponential_distribution<double> gap(workload_.rate);
    double at = 0;
    for (SentRequest& request : record_.requests) {
      request.scheduled = at;
      at += workload_.pattern() == LoadPattern::poisson ? gap(random) : 1 / workload_.rate;
    }
  }

  /// The same for every cell: what differs is how they are served.
  void draw_lengths() {
    std::mt19937_64 random = random_for(kLengths);
    const auto draw = [&](std::int64_t mean) {
      const auto far = static_cast<std::int64_t>(workload_.length_spread * static_cast<double>(mean));
      return std::max<std::int64_t>(1, std::uniform_int_distribution<std::int64_t>(mean - far, mean + far)(random));
    };
    for (SentRequest& request : record_.requests) {
      request.prompt_tokens = draw(workload_.prompt_tokens);
      request.output_tokens = draw(workload_.output_tokens);
    }
  }

  void count_since(const engine::EngineCounters& before) {
    const engine::EngineCounters now = engine_.snapshot()->counters;
    const auto share = [](std::uint64_t part, std::uint64_t whole) {
      return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
    };
    const std::uint64_t padding = now.n_padding_tokens - before.n_padding_tokens;
    // The last token of an answer is written and not computed.
    const std::uint64_t written = now.n_generation_tokens - before.n_generation_tokens;
    const std::uint64_t wanted = now.n_prompt_tokens - before.n_prompt_tokens + written - std::min<std::uint64_t>(written, record_.requests.size());
    const std::uint64_t held = now.n_kv_held - before.n_kv_held;
    record_.n_preemptions = static_cast<std::int64_t>(now.n_preemptions - before.n_preemptions);
    record_.padding = share(padding, padding + wanted);
    record_.kv_reserved = share(now.n_kv_reserved - before.n_kv_reserved, held);
    record_.kv_unfilled = share(now.n_kv_unfilled - before.n_kv_unfilled, held);
  }

  Result<void> drive() {
    while (n_sent_ < record_.requests.size() || !flights_.empty()) {
      LATHE_TRY_VOID(send_what_is_due());
      wait();
      LATHE_TRY_VOID(collect());
      record_.kv_usage_peak = std::max(record_.kv_usage_peak, engine_.snapshot()->kv_usage());
      if (!go_on_()) return engine::fail(ErrorCode::cancelled, "the run was stopped", "sweep");
    }
    return {};
  }

  Result<void> send_what_is_due() {
    while (n_sent_ < record_.requests.size()) {
      SentRequest& next = record_.requests[n_sent_];
      if (is_open() ? next.scheduled > now() : static_cast<std::int64_t>(flights_.size()) >= workload_.concurrency) return {};
      if (!is_open()) next.scheduled = now();
      LATHE_TRY_VOID(send(n_sent_));
      ++n_sent_;
    }
    return {};
  }

  Result<void> send(std::size_t index) {
    engine::GenerateRequest request;
    request.source = "bench";
    request.cache_salt = salt_;
    request.prompt_token_ids = shared_;
    const SentRequest& planned = record_.requests[index];
    if (static_cast<std::int64_t>(shared_.size()) > planned.prompt_tokens) {
      request.prompt_token_ids.resize(static_cast<std::size_t>(planned.prompt_tokens));
    }
    const auto own = random_ids(kFirstPrompt + index, planned.prompt_tokens - static_cast<std::int64_t>(shared_.size()));
    request.prompt_token_ids.insert(request.prompt_token_ids.end(), own.begin(), own.end());
    request.sampling = sampling_;
    request.sampling.max_tokens = planned.output_tokens;
    request.sampling.seed = static_cast<std::int64_t>((seed_ + index) & 0x7fff'ffff);
    auto flight = std::make_unique<Flight>();
    flight->index = index;
    LATHE_TRY(flight->handle, engine_.submit(std::move(request)));
    flight->handle->on_wake([this, flight = flight.get()] {
      {
        const std::lock_guard lock(flight->mutex);
        flight->wakes.push_back(Clock::now());
      }
      const std::lock_guard lock(arrivals_.mutex);
      arrivals_.any = true;
      arrivals_.changed.notify_one();
    });
    flights_.push_back(std::move(flight));
    return {};
  }

  void wait() {
    auto patience = std::chrono::duration<double>(kPatience);
    if (is_open() && n_sent_ < record_.requests.size()) {
      patience = std::min(patience, std::chrono::duration<double>(std::max(0.0, record_.requests[n_sent_].scheduled - now())));
    }
    std::unique_lock lock(arrivals_.mutex);
    arrivals_.changed.wait_for(lock, patience, [this] { return arrivals_.any; });
    arrivals_.any = false;
  }

  /// Reads what has come; requests that have ended leave.
  Result<void> collect() {
    for (std::size_t i = 0; i < flights_.size();) {
      LATHE_TRY(const bool ended, read(*flights_[i]));
      if (ended) {
        flights_[i]->handle->on_wake({});
        flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    return {};
  }

  Result<bool> read(Flight& flight) {
    SentRequest& record = record_.requests[flight.index];
    engine::TokenEvent event;
    if (!flight.handle->poll(event)) return false;
    note_times(flight, record, event.token_ids.size());
    for (const std::int32_t id : event.token_ids) record.answer = (record.answer ^ static_cast<std::uint32_t>(id)) * kFnvPrime;
    if (!event.finished) return false;
    if (event.error) return tl::unexpected(*event.error);
    record.end = record.token_times.empty() ? now() : record.token_times.back();
    record.usage = event.usage;
    record.timings = event.timings;
    if (record.usage.n_completion_tokens != record.output_tokens) {
      return engine::fail(ErrorCode::invalid_argument,
                          fmt::format("an answer ended after {} of {} tokens ({}): its context holds no more, or something stops it",
                                      record.usage.n_completion_tokens, record.output_tokens,
                                      engine::name_of(event.finish_reason)),
                          "output_tokens");
    }
    return true;
  }

  /// A step gives a token at most; where one was not seen, its time is that of the next.
  void note_times(Flight& flight, SentRequest& record, std::size_t n_tokens) {
    std::vector<Clock::time_point> wakes;
    {
      const std::lock_guard lock(flight.mutex);
      wakes.swap(flight.wakes);
    }
    // A token may be read before its wake-up comes: that one tells nothing of those after it.
    const std::size_t n_late = std::min(flight.n_late, wakes.size());
    wakes.erase(wakes.begin(), wakes.begin() + static_cast<std::ptrdiff_t>(n_late));
    flight.n_late -= n_late;
    if (wakes.size() < n_tokens) flight.n_late += n_tokens - wakes.size();
    const Clock::time_point last = Clock::now();
    for (std::size_t i = 0; i < n_tokens; ++i) {
      const Clock::time_point at = i < wakes.size() ? wakes[i] : last;
      record.token_times.push_back(std::chrono::duration<double>(at - start_).count());
    }
  }

  std::vector<std::int32_t> random_ids(std::uint64_t purpose, std::int64_t n) const {
    std::mt19937_64 random = random_for(purpose);
    std::uniform_int_distribution<std::int32_t> any(0, engine_.tokenizer().vocab_size() - 1);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::max<std::int64_t>(0, n)));
    for (std::int32_t& id : ids) id = any(random);
    return ids;
  }

  engine::Engine& engine_;
  const SweepWorkload& workload_;
  engine::SamplingParams sampling_;
  const std::uint64_t seed_;
  const std::function<bool()>& go_on_;
  const Clock::time_point start_ = Clock::now();
  const std::string salt_ = fmt::format("sweep {}", start_.time_since_epoch().count());
  std::vector<std::int32_t> shared_;
  RunRecord record_;
  Arrivals arrivals_;
  std::vector<std::unique_ptr<Flight>> flights_;
  std::size_t n_sent_ = 0;
};

}  // namespace

Result<RunRecord> run_load(engine::Engine& engine, const SweepWorkload& workload, const engine::SamplingParams& sampling,
                           std::uint64_t seed, const std::function<bool()>& go_on) {
  return LoadRun(engine, workload, sampling, seed, go_on).run();
}

}  // namespace lathe::app
