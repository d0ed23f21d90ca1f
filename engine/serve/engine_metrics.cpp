// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/engine_metrics.h"

#include <algorithm>
#include <span>

#include "engine/base/clock.h"

namespace lathe::engine {
namespace {

std::span<const double> token_bounds(std::int64_t max_model_len) {
  const auto* const end = std::upper_bound(kTokenBounds.begin(), kTokenBounds.end(), static_cast<double>(max_model_len));
  return {kTokenBounds.begin(), end};
}

}  // namespace

EngineMetrics::EngineMetrics(std::int64_t max_model_len)
    : prompt_tokens_(token_bounds(max_model_len)), generation_tokens_(token_bounds(max_model_len)) {}

/// Counts all values of a prompt at once, so that computed and cached tokens always add up to its length.
void EngineMetrics::count_prompt(const Generation& generation) {
  if (!generation.counts_prompt) return;
  counters_.n_prompt_tokens += static_cast<std::uint64_t>(generation.n_prompt);
  counters_.n_prefix_queries += static_cast<std::uint64_t>(generation.n_looked_up);
  counters_.n_prefix_hits += static_cast<std::uint64_t>(generation.n_cached);
}

void EngineMetrics::count_token(const Generation& generation, std::int64_t since_ns) {
  if (generation.counts_output) ++counters_.n_generation_tokens;
  if (since_ns == 0) {
    count_prompt(generation);
    ttft_s_.observe(seconds_between(generation.submitted_ns, generation.first_token_ns));
  } else {
    itl_s_.observe(seconds_between(since_ns, generation.last_token_ns));
  }
}

/// They came with the token before them, so there is no time between them.
void EngineMetrics::count_jump(const Generation& generation, int n_tokens) {
  if (!generation.counts_output) return;
  counters_.n_generation_tokens += static_cast<std::uint64_t>(n_tokens);
  counters_.n_jumped_tokens += static_cast<std::uint64_t>(n_tokens);
}

void EngineMetrics::count_vector(const Generation& generation) { count_prompt(generation); }

void EngineMetrics::count_end(const Generation& generation) {
  switch (generation.finish) {
    case FinishReason::stop: ++counters_.n_finished_stop; break;
    case FinishReason::length: ++counters_.n_finished_length; break;
    case FinishReason::cancelled: ++counters_.n_finished_abort; break;
    case FinishReason::error: ++counters_.n_finished_error; break;
    case FinishReason::none: break;
  }
  e2e_s_.observe(seconds_between(generation.submitted_ns, generation.end_ns));
  if (generation.counts_prompt && generation.has_answer()) prompt_tokens_.observe(generation.n_prompt);
  if (!generation.pooling) generation_tokens_.observe(generation.counts_output ? generation.n_output() : 0);
  if (!generation.was_admitted) return;
  queue_s_.observe(seconds_between(generation.submitted_ns, generation.admitted_ns));
  if (!generation.has_answer()) return;
  prefill_s_.observe(seconds_between(generation.admitted_ns, generation.first_token_ns));
  if (!generation.pooling) decode_s_.observe(seconds_between(generation.first_token_ns, generation.last_token_ns));
}

void EngineMetrics::write(const SchedulerCounters& scheduler, EngineSnapshot& snapshot) const {
  snapshot.counters = counters_;
  snapshot.counters.n_prefill_tokens = scheduler.n_prompt_tokens;
  snapshot.counters.n_preemptions = scheduler.n_preemptions;
  snapshot.counters.n_recomputed_tokens = scheduler.n_recomputed_tokens;
  snapshot.counters.n_padding_tokens = scheduler.n_padding_tokens;
  snapshot.counters.n_kv_held = static_cast<std::uint64_t>(scheduler.occupancy.n_held);
  snapshot.counters.n_kv_reserved = static_cast<std::uint64_t>(scheduler.occupancy.n_reserved);
  snapshot.counters.n_kv_unfilled = static_cast<std::uint64_t>(scheduler.occupancy.n_unfilled);
  snapshot.ttft_s = ttft_s_.snapshot();
  snapshot.itl_s = itl_s_.snapshot();
  snapshot.e2e_s = e2e_s_.snapshot();
  snapshot.queue_s = queue_s_.snapshot();
  snapshot.prefill_s = prefill_s_.snapshot();
  snapshot.decode_s = decode_s_.snapshot();
  snapshot.prompt_tokens = prompt_tokens_.snapshot();
  snapshot.generation_tokens = generation_tokens_.snapshot();
}

}  // namespace lathe::engine
