// SPDX-License-Identifier: Apache-2.0
// The continuous policy: iteration-level batching, as in paged, on a cache that is reserved for the longest context. Source:
// Yu et al. 2022 (Orca): requests come and go between two steps; Kwon et al. 2023 call this cache "Orca (Max)".
#include "engine/schedule/policies.h"
#include "engine/schedule/scheduler.h"

namespace lathe::engine {
namespace {

/// Never preempts: a running sequence holds all the blocks that it can ever need.
void plan_continuous(Scheduler& step) {
  for (Sequence* sequence : step.running()) {
    if (const int n_tokens = step.chunk_of(*sequence); n_tokens > 0) step.schedule(*sequence, n_tokens);
  }
  while (Sequence* first = step.first_waiting()) {
    if (!step.admit_first()) break;
    step.schedule(*first, step.chunk_of(*first));
  }
}

}  // namespace

extern constexpr PolicyDescriptor kContinuousPolicy{
    .name = "continuous",
    .help = "Requests join and leave at every step; each reserves max_model_len in one piece when it is admitted.",
    .plan = plan_continuous,
    .reserves_context = true,
};

}  // namespace lathe::engine
