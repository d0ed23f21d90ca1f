// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/request_plan.h"

#include <algorithm>
#include <numeric>

#include "app/bench/text_dataset.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

void draw_times(const SweepWorkload& workload, std::uint64_t seed, std::vector<PlannedRequest>& requests) {
  if (workload.pattern() != LoadPattern::constant_rate && workload.pattern() != LoadPattern::poisson) return;
  std::mt19937_64 random = random_for(seed, Purpose::times);
  std::exponential_distribution<double> gap(workload.rate);
  double at = 0;
  for (PlannedRequest& request : requests) {
    request.scheduled = at;
    at += workload.pattern() == LoadPattern::poisson ? gap(random) : 1 / workload.rate;
  }
}

void draw_lengths(const SweepWorkload& workload, std::uint64_t seed, std::vector<PlannedRequest>& requests) {
  std::mt19937_64 random = random_for(seed, Purpose::lengths);
  const auto draw = [&](std::int64_t mean) {
    const auto far = static_cast<std::int64_t>(workload.length_spread * static_cast<double>(mean));
    return std::max<std::int64_t>(1, std::uniform_int_distribution<std::int64_t>(mean - far, mean + far)(random));
  };
  for (PlannedRequest& request : requests) {
    request.prompt_tokens = draw(workload.prompt_tokens);
    request.output_tokens = draw(workload.output_tokens);
  }
}

/// Each text once, in an order drawn from the seed, before any comes again.
void draw_texts(const std::vector<std::string>& texts, std::uint64_t seed, std::vector<PlannedRequest>& requests) {
  std::mt19937_64 random = random_for(seed, Purpose::texts);
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i % order.size() == 0) std::shuffle(order.begin(), order.end(), random);
    requests[i].text = texts[order[i % order.size()]];
  }
}

std::vector<PlannedRequest> replayed(const std::vector<TracedRequest>& trace, const SweepWorkload& workload) {
  std::vector<PlannedRequest> requests;
  for (const TracedRequest& traced : trace) {
    if (workload.requests > 0 && requests.size() == static_cast<std::size_t>(workload.requests)) break;
    requests.push_back({.scheduled = traced.arrival * workload.time_scale,
                        .prompt_tokens = traced.prompt_tokens,
                        .output_tokens = traced.output_tokens,
                        .text = {}});
  }
  return requests;
}

}  // namespace

std::mt19937_64 random_for(std::uint64_t seed, Purpose purpose, std::uint64_t index) {
  std::seed_seq seeds{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(static_cast<std::uint64_t>(purpose) + index)};
  return std::mt19937_64(seeds);
}

Result<std::vector<PlannedRequest>> RequestPlanner::plan(const SweepWorkload& workload, std::uint64_t seed) {
  std::vector<PlannedRequest> requests;
  if (workload.pattern() == LoadPattern::replay) {
    if (trace_path_ != workload.trace) {
      trace_path_.clear();
      LATHE_TRY(trace_, read_trace(workload.trace));
      trace_path_ = workload.trace;
    }
    requests = replayed(trace_, workload);
  } else {
    requests.resize(static_cast<std::size_t>(workload.n_requests()));
    draw_times(workload, seed, requests);
    draw_lengths(workload, seed, requests);
  }
  if (workload.dataset.empty()) return requests;
  if (prompts_path_ != workload.dataset) {
    prompts_path_.clear();
    LATHE_TRY(prompts_, read_prompt_dataset(workload.dataset));
    prompts_path_ = workload.dataset;
  }
  draw_texts(prompts_, seed, requests);
  return requests;
}

}  // namespace lathe::app
