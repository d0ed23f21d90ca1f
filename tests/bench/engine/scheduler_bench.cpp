// SPDX-License-Identifier: Apache-2.0
// The cost of the scheduler per step, by number of sequences and length of their contexts. Target: < 20 us at 256 sequences.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <vector>

#include "engine/schedule/scheduler.h"

using namespace lathe::engine;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSteps = 1000;
constexpr int kBlockSize = 16;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

struct Cost {
  double plan_us = 0, commit_us = 0;  ///< medians: the machine may be busy with something else now and then
};

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// All sequences decode; every one has `n_context` tokens at the start.
Cost decode_cost(int n_seqs, int n_context) {
  // Room for the prompts to be read, the steps that are measured, and no preemption.
  const int n_blocks = n_seqs * (2 * (n_context + kSteps) / kBlockSize);
  Scheduler scheduler({.max_num_seqs = n_seqs, .max_num_batched_tokens = 8192, .max_logit_rows = n_seqs},
                      *policy_table().front(), PagedCache(n_blocks, kBlockSize, true));
  std::deque<Sequence> sequences(static_cast<std::size_t>(n_seqs));
  for (std::uint64_t n_added = 0; Sequence & sequence : sequences) {
    sequence.id = ++n_added;
    sequence.n_prompt = n_context;
    sequence.tokens.assign(static_cast<std::size_t>(n_context), static_cast<std::int32_t>(sequence.id));
    sequence.tokens.reserve(static_cast<std::size_t>(n_context + 2 * kSteps));
    scheduler.add(sequence, 0);
  }
  std::vector<double> plan_us, commit_us;
  while (static_cast<int>(plan_us.size()) < kSteps) {
    const auto begin = Clock::now();
    StepPlan& plan = scheduler.plan(0);
    const double planned_us = microseconds_since(begin);
    const bool all_decode = plan.n_decode_tokens == n_seqs;
    const auto committing = Clock::now();
    for (const PlannedSequence& entry : plan.entries) {
      scheduler.commit(entry);
      if (entry.samples) entry.sequence->tokens.push_back(static_cast<std::int32_t>(entry.sequence->id));
    }
    const double committed_us = microseconds_since(committing);
    scheduler.clear_events();
    if (!all_decode) continue;
    plan_us.push_back(planned_us);
    commit_us.push_back(committed_us);
  }
  return {.plan_us = median(plan_us), .commit_us = median(commit_us)};
}

/// Nanoseconds a block to find a cached prompt of n_tokens again.
double lookup_ns_a_block(int n_tokens) {
  PagedCache cache(n_tokens / kBlockSize + 1, kBlockSize, true);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(n_tokens), 7);
  BlockTable table;
  cache.grow(table, n_tokens);
  cache.publish(table, tokens, n_tokens, "");
  constexpr int kRounds = 200;
  int n_found = 0;
  const auto begin = Clock::now();
  for (int i = 0; i < kRounds; ++i) n_found += cache.match(tokens, "").n_blocks;
  return microseconds_since(begin) * 1e3 / n_found;
}

}  // namespace

int main() {
  fmt::print("{:>9} {:>8} {:>9} {:>10}\n", "sequences", "context", "plan us", "commit us");
  for (const int n_seqs : {1, 32, 256}) {
    for (const int n_context : {128, 1024, 4096}) {
      const Cost cost = decode_cost(n_seqs, n_context);
      fmt::print("{:>9} {:>8} {:>9.2f} {:>10.2f}\n", n_seqs, n_context, cost.plan_us, cost.commit_us);
    }
  }
  for (const int n_tokens : {1024, 16384}) {
    fmt::print("prefix lookup of {} tokens: {:.0f} ns a block\n", n_tokens, lookup_ns_a_block(n_tokens));
  }
}
