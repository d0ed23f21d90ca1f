// SPDX-License-Identifier: Apache-2.0
// random_checkpoint: a checkpoint with all tensors that a config asks for, in bf16, with random weights.
#pragma once

#include <cstdint>
#include <string>

#include "engine/api/result.h"
#include "engine/load/checkpoint.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// Values are those of a model before training (norms near 1, all other tensors with a standard deviation of 0.02), so that
/// activations stay finite, and depend on seed, name and index alone. `name`: in place of a file's name.
/// Errors: resource_exhausted.
Result<Checkpoint> random_checkpoint(const ModelConfig& config, const std::string& name, std::uint64_t seed = 1);

}  // namespace lathe::engine
