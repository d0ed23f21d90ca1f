// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/request_phases.h"

#include <algorithm>
#include <optional>

namespace lathe::ui {
namespace {

using engine::SchedulerEvent;
using engine::SchedulerEventKind;

/// The phase that begins with an event; none: the present phase goes on.
std::optional<Phase> phase_after(SchedulerEventKind kind) {
  switch (kind) {
    case SchedulerEventKind::queued: return Phase::queued;
    case SchedulerEventKind::admitted:
    case SchedulerEventKind::resumed: return Phase::prefill;
    case SchedulerEventKind::prefilled: return Phase::decode;
    case SchedulerEventKind::preempted: return Phase::preempted;
    default: return std::nullopt;
  }
}

bool is_end(SchedulerEventKind kind) {
  return kind == SchedulerEventKind::finished || kind == SchedulerEventKind::cancelled || kind == SchedulerEventKind::failed;
}

void count_tokens(RequestLife& life, const SchedulerEvent& event) {
  switch (event.kind) {
    case SchedulerEventKind::admitted: life.n_computed_tokens += event.n[0] - event.n[1]; break;
    case SchedulerEventKind::finished: life.n_computed_tokens += event.n[0]; break;
    case SchedulerEventKind::resumed:
      life.n_lost_tokens += event.n[1];
      life.n_computed_tokens += event.n[1];
      break;
    default: break;
  }
}

}  // namespace

RequestLife life_of(const std::vector<SchedulerEvent>& events, std::int64_t submitted_ns, std::int64_t end_ns) {
  const auto seconds = [submitted_ns](std::int64_t ns) {
    return std::max(0.0, static_cast<double>(ns - submitted_ns) * 1e-9);
  };
  RequestLife life;
  Phase phase = Phase::queued;
  double begin = 0;
  double end = seconds(end_ns);
  const auto close = [&](double at) {
    if (at > begin) life.spans.push_back({phase, begin, at});
    begin = at;
  };
  for (const SchedulerEvent& event : events) {
    count_tokens(life, event);
    if (is_end(event.kind)) {
      end = seconds(event.time_ns);
      break;
    }
    const std::optional<Phase> next = phase_after(event.kind);
    if (!next || *next == phase) continue;
    close(seconds(event.time_ns));
    phase = *next;
  }
  close(end);
  life.end_s = end;
  return life;
}

}  // namespace lathe::ui
