// SPDX-License-Identifier: GPL-3.0-or-later
// Request phases: the life of a request as spans of time, read from its why-events.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/api/scheduler_event.h"

namespace lathe::ui {

enum class Phase : std::uint8_t { queued, prefill, decode, preempted };

/// Units: seconds since the request was submitted.
struct PhaseSpan {
  Phase phase = Phase::queued;
  double begin_s = 0, end_s = 0;
};

struct RequestLife {
  std::vector<PhaseSpan> spans;  ///< in order of time, without gaps
  double end_s = 0;
  std::int64_t n_lost_tokens = 0;  ///< computed tokens that preemptions threw away and the prefix cache did not give back
  std::int64_t n_computed_tokens = 0;
  /// Share of the computed tokens that were computed twice.
  double recompute_tax() const {
    return n_computed_tokens == 0 ? 0.0 : static_cast<double>(n_lost_tokens) / static_cast<double>(n_computed_tokens);
  }
};

/// Splits the life of one request into phases. `end_ns`: the present time, or when the request finished. Requires: events of
/// one request, oldest first.
RequestLife life_of(const std::vector<engine::SchedulerEvent>& events, std::int64_t submitted_ns, std::int64_t end_ns);

}  // namespace lathe::ui
