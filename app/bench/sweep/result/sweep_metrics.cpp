// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "app/bench/sweep/result/run_latencies.h"

namespace lathe::app {
namespace {

double mean_of(const std::vector<double>& samples) {
  return samples.empty() ? 0 : std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

/// Returns the smallest sample that `share` of the samples do not exceed.
double quantile_of(std::vector<double> samples, double share) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const double place = std::ceil(share * static_cast<double>(samples.size())) - 1;
  return samples[static_cast<std::size_t>(std::max(0.0, place))];
}

template <class Value>
std::vector<double> all(const RunRecord& run, const Value& value) {
  std::vector<double> samples;
  for (const SentRequest& request : run.requests) samples.push_back(value(request));
  return samples;
}

/// Applies `what` to all gaps between tokens; kUnseen if there are none.
template <class What>
double of_gaps(const RunRecord& run, const What& what) {
  const std::vector<double> gaps = all_itl_ms(run);
  return gaps.empty() ? kUnseen : what(gaps);
}

/// Mean over the answers that came in more than one piece.
double tpot_ms_mean(const RunRecord& run) {
  std::vector<double> samples;
  for (const SentRequest& request : run.requests) {
    if (request.token_times.size() > 1) samples.push_back(tpot_ms(request));
  }
  return samples.empty() ? kUnseen : mean_of(samples);
}

double a_second(const RunRecord& run, double amount) { return run.seconds > 0 ? amount / run.seconds : 0; }

double output_tokens(const RunRecord& run) {
  double n = 0;
  for (const SentRequest& request : run.requests) n += static_cast<double>(request.usage.n_completion_tokens);
  return n;
}
double prompt_tokens(const RunRecord& run) {
  double n = 0;
  for (const SentRequest& request : run.requests) n += static_cast<double>(request.usage.n_prompt_tokens);
  return n;
}

/// Mean prompt tokens per second from admission to the first token; kUnseen if no request shows this time.
double prefill_tok_s(const RunRecord& run) {
  std::vector<double> rates;
  for (const SentRequest& request : run.requests) {
    const double ms = request.timings.ttft_ms - request.timings.queue_ms;
    if (ms > 0)
      rates.push_back(1e3 * static_cast<double>(request.usage.n_prompt_tokens - request.usage.n_cached_tokens) / ms);
  }
  return rates.empty() ? kUnseen : mean_of(rates);
}

/// Share of all prompt tokens that were cached; kUnseen if an answer does not report it.
double cached_share(const RunRecord& run) {
  double cached = 0;
  for (const SentRequest& request : run.requests) {
    if (!request.knows_cached) return kUnseen;
    cached += static_cast<double>(request.usage.n_cached_tokens);
  }
  const double all = prompt_tokens(run);
  return all > 0 ? cached / all : kUnseen;
}

/// Checksum of the answers in the order of their requests, of 53 bits, so that a double holds it exactly.
double checksum(const RunRecord& run) {
  if (!run.answers_compare) return kUnseen;
  constexpr std::uint64_t kPrime = 0x100000001b3, kExact = (std::uint64_t{1} << 53) - 1;
  std::uint64_t sum = 0;
  for (const SentRequest& request : run.requests) sum = (sum ^ request.answer) * kPrime;
  return static_cast<double>(sum & kExact);
}

bool is_good(const SentRequest& request, const ServiceGoal& goal) {
  return (goal.ttft_ms == 0 || ttft_ms(request) <= goal.ttft_ms) && (goal.itl_ms == 0 || tpot_ms(request) <= goal.itl_ms);
}

constexpr bool kMore = true, kLess = false;

constexpr std::array kMetrics = {
    SweepMetric{"output_tok_s", "tok/s", "Tokens of all answers, divided by the time from the first send to the last token.",
                kMore, [](const RunRecord& run, const ServiceGoal&) { return a_second(run, output_tokens(run)); }},
    SweepMetric{
        "total_tok_s", "tok/s",
        "Tokens of all prompts and answers, divided by the time from the first send to the last token.", kMore,
        [](const RunRecord& run, const ServiceGoal&) { return a_second(run, output_tokens(run) + prompt_tokens(run)); }},
    SweepMetric{
        "request_s", "req/s", "Requests, divided by the time from the first send to the last token.", kMore,
        [](const RunRecord& run, const ServiceGoal&) { return a_second(run, static_cast<double>(run.requests.size())); }},
    SweepMetric{
        "goodput_req_s", "req/s",
        "Requests within the goal (TTFT, and TPOT for ITL), divided by the time from the first send to the last token.",
        kMore,
        [](const RunRecord& run, const ServiceGoal& goal) {
          const auto n = std::count_if(run.requests.begin(), run.requests.end(),
                                       [&](const SentRequest& request) { return is_good(request, goal); });
          return a_second(run, static_cast<double>(n));
        }},
    SweepMetric{
        "max_rate", "req/s",
        "Highest rate of requests that held, with load saturation: 95 of 100 requests within the goal, and requests "
        "completed at 95 % or more of the rate at which they arrived. The other metrics are those of the run at that rate.",
        kMore, [](const RunRecord& run, const ServiceGoal&) { return run.max_rate; }},
    SweepMetric{"ttft_ms_mean", "ms", "Time to the first token, from the scheduled send time.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return mean_of(all(run, ttft_ms)); }},
    SweepMetric{"ttft_ms_p50", "ms", "Time to the first token: median over requests.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return quantile_of(all(run, ttft_ms), 0.5); }},
    SweepMetric{"ttft_ms_p99", "ms", "Time to the first token: 99th percentile over requests.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return quantile_of(all(run, ttft_ms), 0.99); }},
    SweepMetric{"itl_ms_mean", "ms",
                "Gap between neighbouring tokens of a request, over all gaps; tokens that arrive together share the gap "
                "before them evenly. For a server that does not report its tokens: between pieces of text.",
                kLess, [](const RunRecord& run, const ServiceGoal&) { return of_gaps(run, mean_of); }},
    SweepMetric{"itl_ms_p50", "ms", "Gap between tokens: median over all gaps of all requests.", kLess,
                [](const RunRecord& run, const ServiceGoal&) {
                  return of_gaps(run, [](const auto& gaps) { return quantile_of(gaps, 0.5); });
                }},
    SweepMetric{"itl_ms_p99", "ms", "Gap between tokens: 99th percentile over all gaps of all requests.", kLess,
                [](const RunRecord& run, const ServiceGoal&) {
                  return of_gaps(run, [](const auto& gaps) { return quantile_of(gaps, 0.99); });
                }},
    SweepMetric{"tpot_ms_mean", "ms",
                "Time of a request from its first to its last token, divided by its tokens except the first; none for "
                "answers in one piece.",
                kLess, [](const RunRecord& run, const ServiceGoal&) { return tpot_ms_mean(run); }},
    SweepMetric{"e2e_ms_mean", "ms", "From the scheduled send time to the last token.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return mean_of(all(run, e2e_ms)); }},
    SweepMetric{"e2e_ms_p99", "ms", "From the scheduled send time to the last token: 99th percentile over requests.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return quantile_of(all(run, e2e_ms), 0.99); }},
    SweepMetric{"kv_usage_peak", "share", "Largest share of KV blocks that requests held in a step.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return run.kv_usage_peak; }},
    SweepMetric{"cached_share", "share", "Share of prompt tokens that the prefix cache had.", kMore,
                [](const RunRecord& run, const ServiceGoal&) { return cached_share(run); }},
    SweepMetric{"preemptions", "count", "Requests that were preempted and computed again.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return run.n_preemptions; }},
    SweepMetric{"padding", "share",
                "Share of padding rows, which keep the shape of a batch, in all rows that were computed.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return run.padding; }},
    SweepMetric{"kv_reserved", "share",
                "Share of slots in blocks that requests held but that held no token, over the steps.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return run.kv_reserved; }},
    SweepMetric{"kv_unfilled", "share",
                "Share of slots after the last token of blocks in use, of all slots that requests held.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return run.kv_unfilled; }},
    SweepMetric{"answers", kChecksumUnit,
                "Checksum of all answers of a run: cells with the same checksum generated the same tokens. If the runs of a "
                "cell differ (each draws its own prompts), the checksum of every run, in their order.",
                kLess, [](const RunRecord& run, const ServiceGoal&) { return checksum(run); }},
    SweepMetric{"prefill_tok_s", "tok/s",
                "Tokens of a prompt, divided by the time from its admission to its first token; mean over requests.", kMore,
                [](const RunRecord& run, const ServiceGoal&) { return prefill_tok_s(run); }},
    SweepMetric{"load_s", "s",
                "Time of the load of a cell; with cache=true (the default) from the packed cache, if it has the model.",
                kLess, [](const RunRecord& run, const ServiceGoal&) { return run.load_seconds; }},
    SweepMetric{"weight_bytes", "bytes", "Memory of the weights.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return run.weight_bytes; }},
    SweepMetric{"memory_bytes", "bytes",
                "Memory that a load took, measured after its first step; it includes the part of the KV cache that is in "
                "use by then.",
                kLess, [](const RunRecord& run, const ServiceGoal&) { return run.memory_bytes; }},
    SweepMetric{"perplexity", "ratio", "Perplexity of the model on the text of the quality measurement.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return run.quality.perplexity; }},
    SweepMetric{"perplexity_ci95", "ratio", "Half of the 95 % interval of the perplexity over the tokens of the text.",
                kLess, [](const RunRecord& run, const ServiceGoal&) { return run.quality.perplexity_ci95; }},
    SweepMetric{"kl_mean", "nats",
                "Divergence of the model's distributions from those of the unquantized model, mean over tokens.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return run.quality.kl_mean; }},
    SweepMetric{"kl_99", "nats", "Divergence from the unquantized model that 99 of 100 tokens do not exceed.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return run.quality.kl_99; }},
    SweepMetric{"same_best", "share",
                "Share of tokens for which the model and the unquantized model find the same token most probable.", kMore,
                [](const RunRecord& run, const ServiceGoal&) { return run.quality.same_best; }},
    SweepMetric{"quality_s", "s", "Time of the quality measurement, including its loads.", kLess,
                [](const RunRecord& run, const ServiceGoal&) { return run.quality.seconds; }},
    SweepMetric{"requests_cut", "count", "Requests whose prompt or answer was shortened to what the context holds.", kLess,
                [](const RunRecord& run, const ServiceGoal&) {
                  return static_cast<double>(std::count_if(run.requests.begin(), run.requests.end(),
                                                           [](const SentRequest& request) { return request.is_cut; }));
                }},
    SweepMetric{"requests", "count", "Requests of a run; fewer than planned where max_seconds or max_waiting ended it.",
                kMore, [](const RunRecord& run, const ServiceGoal&) { return static_cast<double>(run.requests.size()); }},
};

}  // namespace

std::span<const SweepMetric> sweep_metrics() { return kMetrics; }

std::vector<double> measure(const RunRecord& run, const ServiceGoal& goal) {
  std::vector<double> values;
  for (const SweepMetric& metric : kMetrics) values.push_back(metric.of(run, goal));
  return values;
}

std::size_t metric_index(std::string_view name) {
  const auto metrics = sweep_metrics();
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [&](const SweepMetric& metric) { return metric.name == name; });
  return static_cast<std::size_t>(found - metrics.begin());
}

}  // namespace lathe::app
