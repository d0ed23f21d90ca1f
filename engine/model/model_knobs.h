// SPDX-License-Identifier: Apache-2.0
// The settings of a ModelConfig by name, as JSON for people and programs.
#pragma once

#include "engine/api/json.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// Returns one value for each row of the table; null: the model has no such setting.
OrderedJson knobs_of(const ModelConfig& config);

}  // namespace lathe::engine
