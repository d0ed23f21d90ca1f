// SPDX-License-Identifier: Apache-2.0
// The static policy: a batch is all that waits when the engine is idle, and no request joins it before its last answer has
// ended. The cache is reserved for the longest context, not for prompt and max_tokens: a tensor [batch, length] is allocated
// once, for all batches, and so the waste can be compared with that of continuous. Source: Yu et al. 2022, section 2
// (request-level scheduling); the batches of Triton's and FasterTransformer's time.
#include "engine/schedule/policies.h"
#include "engine/schedule/scheduler.h"

namespace lathe::engine {
namespace {

void plan_static(Scheduler& step) {
  if (!step.batch().is_empty()) {
    step.wait_for_batch();
  } else if (step.first_waiting() != nullptr) {
    step.start_batch(BatchCause::free);
  } else {
    return;
  }
  plan_batch(step);
}

}  // namespace

extern constexpr PolicyDescriptor kStaticPolicy{
    .name = "static",
    .help =
        "A batch is the requests that wait when the last batch has ended; it is padded to its longest prompt and runs until "
        "its last answer has ended.",
    .plan = plan_static,
    .reserves_context = true,
    .is_lockstep = true,
};

}  // namespace lathe::engine
