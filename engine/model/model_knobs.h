// SPDX-License-Identifier: Apache-2.0
// The knobs of a ModelConfig by their names, for people and programs.
#pragma once

#include "engine/api/json.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// One value for each row of the table; null: the model has no such thing.
OrderedJson knobs_of(const ModelConfig& config);

}  // namespace lathe::engine
