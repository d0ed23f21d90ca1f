// SPDX-License-Identifier: Apache-2.0
// Experts that lie in one tensor: newer versions of transformers keep what all experts of a layer have together, and some
// families save it so.
#pragma once

#include "engine/load/checkpoint.h"

namespace lathe::engine {

/// Makes of each tensor "X.experts.Y" [experts, ...] one "X.experts.{i}.Y" for each, without a copy. What an expert's number
/// follows is left alone. Errors: model_refused when a name is there already.
Result<void> cut_expert_stacks(Checkpoint& checkpoint);

}  // namespace lathe::engine
