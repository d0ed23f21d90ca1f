// SPDX-License-Identifier: Apache-2.0
// Settings of a loop's scheduler, cache and request check: the options, limited to what the runner can hold.
#pragma once

#include "engine/api/options.h"
#include "engine/run/runner.h"
#include "engine/schedule/policies.h"
#include "engine/schedule/scheduler.h"
#include "engine/serve/request_check.h"

namespace lathe::engine {

/// The policy that the options name. Requires: checked options.
const PolicyDescriptor& policy_of(const EngineOptions& options);
RequestLimits request_limits(const EngineOptions& options, const RunnerLimits& limits);
PagedCache cache_of(const EngineOptions& options, const RunnerLimits& limits);
SchedulerOptions scheduler_options(const EngineOptions& options, const RunnerLimits& limits);

}  // namespace lathe::engine
