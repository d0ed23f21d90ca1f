// SPDX-License-Identifier: Apache-2.0
// Fixes of a memory plan that does not fit, and the error that names them.
#pragma once

#include <vector>

#include "engine/api/fit_fixes.h"
#include "engine/serve/memory_plan.h"

namespace lathe::engine {

/// Changes of one option with which a load would fit whose `plan` does not; as find_fixes() of engine/api. Requires: `plan`
/// is that of the other arguments, and validate(options).
std::vector<FitFix> find_fixes(const kernels::Backend& backend, const ModelConfig& config, const StoredWeights& stored,
                               const EngineOptions& options, const MemoryPlan& plan);

/// Errors: resource_exhausted when the plan does not fit, with the parts, the free memory, and the fixes, or when other
/// programs have taken so much of the device that the budget is not free. Requires: as find_fixes().
Result<void> check_fit(const kernels::Backend& backend, const ModelConfig& config, const StoredWeights& stored,
                       const EngineOptions& options, const MemoryPlan& plan);

}  // namespace lathe::engine
