// SPDX-License-Identifier: Apache-2.0
// The dynamic policy: batches as in static, but a batch begins only when enough requests wait or the first has waited long
// enough. The delay runs from that request's arrival, so time that it waited for the previous batch counts. Source:
// batch_size and max_batch_delay of TorchServe and DJL Serving; the dynamic batcher of Triton.
#include "engine/schedule/policies.h"
#include "engine/schedule/scheduler.h"

namespace lathe::engine {
namespace {

/// Starts a batch. False: it is too early.
bool start(Scheduler& step) {
  const int n_wanted = step.full_batch();
  const std::int64_t deadline_ns = step.first_waiting()->arrived_ns + step.max_batch_delay_ns();
  if (step.waiting().size() >= n_wanted) {
    step.start_batch(BatchCause::full);
  } else if (step.now_ns() >= deadline_ns) {
    step.start_batch(BatchCause::delay);
  } else {
    step.wait_to_fill(n_wanted, deadline_ns);
    return false;
  }
  return true;
}

void plan_dynamic(Scheduler& step) {
  if (!step.batch().is_empty()) {
    step.wait_for_batch();
  } else if (step.first_waiting() == nullptr || !start(step)) {
    return;
  }
  plan_batch(step);
}

}  // namespace

extern constexpr PolicyDescriptor kDynamicPolicy{
    .name = "dynamic",
    .help =
        "Like static, but a batch starts when preferred_batch_size requests wait or the first one has waited "
        "max_batch_delay_ms.",
    .plan = plan_dynamic,
    .reserves_context = true,
    .is_lockstep = true,
};

}  // namespace lathe::engine
