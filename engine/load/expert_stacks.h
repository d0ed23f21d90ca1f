// SPDX-License-Identifier: Apache-2.0
// Splits tensors that hold all experts of a layer: newer versions of transformers keep the experts together, and some
// families save them so.
#pragma once

#include "engine/load/checkpoint.h"

namespace lathe::engine {

/// Replaces each tensor "X.experts.Y" [experts, ...] by one "X.experts.{i}.Y" per expert, without a copy. Names that contain
/// an expert index already are left alone. Errors: model_refused when a name exists already.
Result<void> cut_expert_stacks(Checkpoint& checkpoint);

}  // namespace lathe::engine
