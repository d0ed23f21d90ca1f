// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <random>

namespace lathe::app {
namespace {

using Clock = std::chrono::steady_clock;
using engine::Engine;
using engine::ErrorCode;
using engine::Result;
using engine::TokenEvent;

/// Number of tokens that a warm-up generates: enough to touch all weights, fill the hardware's caches and reach the clock
/// rate of steady load.
constexpr int kWarmUpTokens = 16;
constexpr std::chrono::milliseconds kPatience{100};

/// One stream, from its submission to its last event.
struct Stream {
  Clock::time_point submitted;
  engine::RequestHandlePtr handle;
  engine::RequestTimings timings;
  std::int64_t n_cached = 0;

  Clock::time_point at(double ms) const {
    return submitted + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
  }
};

class Bench {
 public:
  Bench(Engine& engine, std::uint64_t seed, std::function<bool()> go_on)
      : engine_(engine), random_(seed), go_on_(std::move(go_on)) {}

  /// Measures one sample. Units: tokens per second.
  Result<double> sample(BenchKind kind, int n_tokens, int depth, int concurrency) {
    const int n_prompt = kind == BenchKind::pp ? n_tokens : 1;
    // Prompt processing yields the first token of an answer, hence one more.
    const int n_output = kind == BenchKind::pp ? 1 : n_tokens + 1;
    std::vector<Prompt> prompts;
    for (int i = 0; i < concurrency; ++i) prompts.push_back(depth > 0 ? prompt_of_depth(i, depth) : random_prompt(0));
    // Computes the depth for the first sample; for later ones, whatever the cache has lost of it.
    if (depth > 0) LATHE_TRY_VOID(run_streams(prompts, 1));
    for (Prompt& prompt : prompts) extend(prompt, n_prompt);
    LATHE_TRY(const std::vector<Stream> streams, run_streams(prompts, n_output));
    if (depth > 0) LATHE_TRY_VOID(check_depth(streams, depth));
    auto begin = Clock::time_point::max();
    auto end = Clock::time_point::min();
    for (const Stream& stream : streams) {
      begin = std::min(begin, kind == BenchKind::pp ? stream.submitted : stream.at(stream.timings.ttft_ms));
      end = std::max(end, stream.at(kind == BenchKind::pp ? stream.timings.ttft_ms : stream.timings.end_ms));
    }
    const double seconds = std::chrono::duration<double>(end - begin).count();
    if (seconds <= 0) return engine::fail(ErrorCode::internal, "the engine reported no time", "bench");
    return static_cast<double>(n_tokens) * concurrency / seconds;
  }

 private:
  struct Prompt {
    std::string salt;
    std::vector<std::int32_t> ids;
  };

  Result<std::vector<Stream>> run_streams(const std::vector<Prompt>& prompts, int n_output) {
    std::vector<Stream> streams;
    Result<void> all_well;
    for (std::size_t i = 0; i < prompts.size() && all_well; ++i) all_well = submit(streams, prompts[i], n_output);
    for (Stream& stream : streams) {
      if (all_well) all_well = finish(stream, n_output);
      if (!all_well) stream.handle->cancel();
    }
    if (!all_well) return tl::unexpected(all_well.error());
    return streams;
  }

  Result<void> submit(std::vector<Stream>& streams, const Prompt& prompt, int n_output) {
    engine::GenerateRequest request;
    request.source = "bench";
    request.cache_salt = prompt.salt;
    request.prompt_token_ids = prompt.ids;
    request.sampling.temperature = 0;
    request.sampling.ignore_eos = true;
    request.sampling.max_tokens = n_output;
    const Clock::time_point now = Clock::now();
    LATHE_TRY(engine::RequestHandlePtr handle, engine_.submit(std::move(request)));
    streams.push_back({now, std::move(handle), {}, 0});
    return {};
  }

  Result<void> finish(Stream& stream, int n_output) const {
    TokenEvent event;
    while (!event.finished) {
      event = {};
      stream.handle->wait(event, kPatience);
      if (!go_on_()) return engine::fail(ErrorCode::cancelled, "the benchmark was stopped", "bench");
    }
    stream.timings = event.timings;
    stream.n_cached = event.usage.n_cached_tokens;
    if (event.error) return tl::unexpected(*event.error);
    if (event.usage.n_completion_tokens != n_output) {
      return engine::fail(ErrorCode::internal,
                          fmt::format("a stream ended after {} of {} tokens ({})", event.usage.n_completion_tokens, n_output,
                                      engine::name_of(event.finish_reason)),
                          "bench");
    }
    return {};
  }

  /// Checks that each stream found its depth in the prefix cache, which keeps only whole blocks.
  Result<void> check_depth(const std::vector<Stream>& streams, int depth) const {
    const std::int64_t whole = depth - depth % engine_.model().options.block_size;
    for (const Stream& stream : streams) {
      if (stream.n_cached < whole) {
        return engine::fail(ErrorCode::invalid_argument,
                            fmt::format("{} of {} tokens of depth were found in the prefix cache: it must be enabled and "
                                        "large enough for all streams",
                                        stream.n_cached, depth),
                            "depth");
      }
    }
    return {};
  }

  /// The prompt that stream i has in the cache, the same for all samples: a long depth takes longer than what is measured.
  const Prompt& prompt_of_depth(int i, int depth) {
    std::vector<Prompt>& prompts = of_depth_[depth];
    while (std::ssize(prompts) <= i) prompts.push_back(random_prompt(depth));
    return prompts[static_cast<std::size_t>(i)];
  }

  Prompt random_prompt(int n) {
    Prompt prompt{.salt = fmt::format("bench {} {}", salt_, n_prompts_++), .ids = {}};
    extend(prompt, n);
    return prompt;
  }
  void extend(Prompt& prompt, int n) {
    std::uniform_int_distribution<std::int32_t> any(0, engine_.tokenizer().vocab_size() - 1);
    for (int i = 0; i < n; ++i) prompt.ids.push_back(any(random_));
  }

  Engine& engine_;
  std::mt19937_64 random_;
  const std::function<bool()> go_on_;
  const std::int64_t salt_ =
      Clock::now().time_since_epoch().count();  ///< a second benchmark must not find this one's prompts in the cache
  std::uint64_t n_prompts_ = 0;
  std::map<int, std::vector<Prompt>> of_depth_;  ///< by depth, one for each stream
};

/// Takes a number from 1 to kMaxNumber off the front of a text; 0: there is none.
int take_number(std::string_view& text) {
  constexpr int kMaxNumber = 1 << 20;
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || number > kMaxNumber) return 0;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

}  // namespace

std::vector<BenchRun> planned_runs(const BenchPlan& plan) {
  if (!plan.runs.empty()) return plan.runs;
  std::vector<BenchRun> runs;
  for (const auto& [kind, n_tokens] : {std::pair{BenchKind::pp, plan.n_prompt}, std::pair{BenchKind::tg, plan.n_generate}}) {
    if (n_tokens == 0) continue;
    for (const int concurrency : plan.concurrency) runs.push_back({kind, n_tokens, plan.depth, concurrency, {}});
  }
  return runs;
}

Result<BenchRun> parse_bench_run(std::string_view text) {
  constexpr int kMaxStreams = 4096;
  BenchRun run;
  if (text.starts_with("tg")) run.kind = BenchKind::tg;
  std::string_view rest = text.substr(std::min<std::size_t>(2, text.size()));
  run.n_tokens = take_number(rest);
  const auto follows = [&rest](char mark) {
    const bool is_there = rest.starts_with(mark);
    if (is_there) rest.remove_prefix(1);
    return is_there;
  };
  if (follows('x')) run.concurrency = take_number(rest);
  if (follows('@')) {
    run.depth = take_number(rest);
    if (run.depth == 0) run.n_tokens = 0;
  }
  const bool is_named = text.starts_with(name_of(run.kind));
  if (is_named && rest.empty() && run.n_tokens > 0 && run.concurrency > 0 && run.concurrency <= kMaxStreams) return run;
  return engine::fail(ErrorCode::invalid_argument,
                      fmt::format("'{:.64}' is no run: write pp512, tg128x32 for 32 streams, or tg128x32@8000 for streams "
                                  "that have 8000 tokens in the cache",
                                  text));
}

std::string_view name_of(BenchKind kind) { return kind == BenchKind::pp ? "pp" : "tg"; }

Result<std::vector<BenchRun>> run_bench(Engine& engine, const BenchPlan& plan,
                                        const std::function<bool(const BenchProgress&)>& observer) {
  std::vector<BenchRun> runs = planned_runs(plan);
  int n_done = 0;
  const BenchRun* current = nullptr;
  const auto tell = [&] { return observer({*current, n_done, static_cast<int>(runs.size())}); };
  Bench bench(engine, plan.seed, tell);
  for (BenchRun& run : runs) {
    current = &run;
    const int n_warm_up = run.kind == BenchKind::pp ? run.n_tokens : std::min(run.n_tokens, kWarmUpTokens);
    LATHE_TRY([[maybe_unused]] const double warm_up, bench.sample(run.kind, n_warm_up, run.depth, run.concurrency));
    for (int i = 0; i < plan.n_repeats; ++i) {
      LATHE_TRY(const double tok_s, bench.sample(run.kind, run.n_tokens, run.depth, run.concurrency));
      run.samples_tok_s.push_back(tok_s);
      if (!tell()) return engine::fail(ErrorCode::cancelled, "the benchmark was stopped", "bench");
    }
    ++n_done;
  }
  return runs;
}

}  // namespace lathe::app
