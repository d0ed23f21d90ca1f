// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/request_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "app/bench/sweep/load/length_draw.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

/// Draws the send time of each conversation's first turn. Poisson times are scaled so that the mean rate is the requested
/// one: with forty requests it would be off by a sixth.
void draw_times(const SweepWorkload& workload, std::uint64_t seed, std::vector<PlannedRequest>& requests) {
  if (workload.pattern() != LoadPattern::constant_rate && workload.pattern() != LoadPattern::poisson) return;
  std::mt19937_64 random = random_for(seed, Purpose::times);
  std::exponential_distribution<double> gap(1);
  double at = 0, last = 0;
  std::int64_t n = 0;
  for (PlannedRequest& request : requests) {
    if (request.turn > 0) continue;
    request.scheduled = last = at;
    at += workload.pattern() == LoadPattern::poisson ? gap(random) : 1;
    ++n;
  }
  const double scale = last > 0 ? static_cast<double>(n - 1) / (last * workload.rate) : 0;
  for (PlannedRequest& request : requests) request.scheduled *= scale;
}

void draw_lengths(const SweepWorkload& workload, std::uint64_t seed, std::vector<PlannedRequest>& requests) {
  std::mt19937_64 random = random_for(seed, Purpose::lengths);
  const auto draw = [&](std::int64_t mean) {
    return workload.length_distribution == "lognormal" ? lognormal_length(mean, workload.length_spread, random)
                                                       : uniform_length(mean, workload.length_spread, random);
  };
  for (PlannedRequest& request : requests) {
    request.prompt_tokens = draw(workload.new_tokens(request.turn));
    request.output_tokens = draw(workload.output_tokens);
  }
}

/// Draws each conversation of the dataset once, in an order drawn from the seed, before any is repeated.
std::vector<const UserTurns*> drawn_texts(const std::vector<UserTurns>& dataset, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random = random_for(seed, Purpose::texts);
  std::vector<std::size_t> order(dataset.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<const UserTurns*> texts;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % order.size() == 0) std::shuffle(order.begin(), order.end(), random);
    texts.push_back(&dataset[order[i % order.size()]]);
  }
  return texts;
}

/// Plans the turns of all conversations. Without texts each conversation has workload.turns turns.
std::vector<PlannedRequest> conversations(const SweepWorkload& workload, const std::vector<const UserTurns*>& texts) {
  std::vector<PlannedRequest> requests;
  for (std::size_t i = 0; i < static_cast<std::size_t>(workload.n_requests()); ++i) {
    const UserTurns* const said = texts.empty() ? nullptr : texts[i];
    const std::int64_t n_turns =
        said == nullptr ? workload.turns : std::min(workload.turns, static_cast<std::int64_t>(said->size()));
    for (std::int64_t turn = 0; turn < n_turns; ++turn) {
      requests.push_back({.text = said == nullptr ? std::string() : (*said)[static_cast<std::size_t>(turn)],
                          .turn = turn,
                          .n_turns = n_turns,
                          .think_time = turn == 0 ? 0 : workload.think_time});
    }
  }
  return requests;
}

std::vector<PlannedRequest> replayed(const std::vector<TracedRequest>& trace, const SweepWorkload& workload) {
  std::vector<PlannedRequest> requests;
  for (const TracedRequest& traced : trace) {
    if (workload.requests > 0 && requests.size() == static_cast<std::size_t>(workload.requests)) break;
    requests.push_back({.scheduled = traced.arrival * workload.time_scale,
                        .prompt_tokens = traced.prompt_tokens,
                        .output_tokens = traced.output_tokens,
                        .text = {},
                        .blocks = traced.blocks});
  }
  return requests;
}

Result<void> check_turns(const SweepWorkload& workload, const std::vector<UserTurns>& dataset) {
  if (workload.turns == 1) return {};
  if (workload.pattern() == LoadPattern::replay) {
    return engine::fail(ErrorCode::invalid_argument,
                        "turns cannot be combined with a trace, which defines its requests itself", "turns");
  }
  const auto goes_on = [](const UserTurns& turns) { return turns.size() > 1; };
  if (workload.dataset.empty() || std::any_of(dataset.begin(), dataset.end(), goes_on)) return {};
  return engine::fail(ErrorCode::invalid_argument,
                      fmt::format("{} turns are requested, but no item has a second turn: use a file with \"turns\", "
                                  "\"messages\" or \"conversations\", or request one turn",
                                  workload.turns),
                      workload.dataset);
}

}  // namespace

std::mt19937_64 random_for(std::uint64_t seed, Purpose purpose, std::uint64_t index) {
  std::seed_seq seeds{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(purpose), static_cast<std::uint32_t>(index)};
  return std::mt19937_64(seeds);
}

Result<void> RequestPlanner::read_files(const SweepWorkload& workload) {
  if (workload.pattern() == LoadPattern::replay && trace_path_ != workload.trace) {
    trace_path_.clear();
    LATHE_TRY(trace_, read_trace(workload.trace));
    trace_path_ = workload.trace;
  }
  if (!workload.dataset.empty() && dataset_path_ != workload.dataset) {
    dataset_path_.clear();
    LATHE_TRY(dataset_, read_conversations(workload.dataset));
    dataset_path_ = workload.dataset;
  }
  return {};
}

Result<std::vector<PlannedRequest>> RequestPlanner::plan(const SweepWorkload& workload, std::uint64_t seed) {
  LATHE_TRY_VOID(read_files(workload));
  LATHE_TRY_VOID(check_turns(workload, dataset_));
  const auto texts_for = [&](std::size_t n) {
    return workload.dataset.empty() ? std::vector<const UserTurns*>() : drawn_texts(dataset_, n, seed);
  };
  if (workload.pattern() == LoadPattern::replay) {
    std::vector<PlannedRequest> requests = replayed(trace_, workload);
    const auto texts = texts_for(requests.size());
    for (std::size_t i = 0; i < texts.size(); ++i) requests[i].text = texts[i]->front();
    return requests;
  }
  std::vector<PlannedRequest> requests = conversations(workload, texts_for(static_cast<std::size_t>(workload.n_requests())));
  draw_times(workload, seed, requests);
  draw_lengths(workload, seed, requests);
  return requests;
}

}  // namespace lathe::app
