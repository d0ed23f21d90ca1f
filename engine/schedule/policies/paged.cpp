// SPDX-License-Identifier: Apache-2.0
// The paged policy: iteration-level batching on paged blocks, with one token budget for prefill and decode. Source: Kwon et
// al. 2023 (paged blocks, preemption of the last admitted); Agrawal et al. 2024 (chunked prefill).
#include "engine/schedule/policies.h"
#include "engine/schedule/scheduler.h"

namespace lathe::engine {
namespace {

/// Reserves blocks for the sequence, preempting the last admitted ones if need be. False: the sequence itself was the last,
/// and was preempted.
bool reserve_by_force(Scheduler& step, Sequence& sequence, std::int64_t n_tokens) {
  while (!step.reserve(sequence, n_tokens)) {
    if (&step.preempt_last() == &sequence) return false;
  }
  return true;
}

/// Plans running sequences in the order of their admission. A preempted sequence is always later in that order than the one
/// that needs its blocks, so it is not yet in the step. Returns whether all of them are still running.
bool plan_running(Scheduler& step) {
  const std::size_t n_before = step.running().size();
  for (std::size_t i = 0; i < step.running().size() && step.budget() > 0; ++i) {
    Sequence& sequence = *step.running()[i];
    const int n_tokens = step.chunk_of(sequence);
    if (n_tokens == 0) continue;
    if (!reserve_by_force(step, sequence, sequence.n_computed + n_tokens)) break;
    step.schedule(sequence, n_tokens);
  }
  return step.running().size() == n_before;
}

void plan_paged(Scheduler& step) {
  // No sequence is admitted to blocks that another has just lost by preemption.
  if (!plan_running(step)) return;
  while (Sequence* first = step.first_waiting()) {
    if (!step.admit_first()) break;
    step.schedule(*first, step.chunk_of(*first));
  }
}

}  // namespace

extern constexpr PolicyDescriptor kPagedPolicy{
    .name = "paged",
    .help =
        "Continuous batching with paged KV blocks: one token budget per step, for running requests first, then for waiting "
        "ones.",
    .plan = plan_paged,
};

}  // namespace lathe::engine
