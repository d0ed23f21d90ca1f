// SPDX-License-Identifier: Apache-2.0
// Compares a model with what a reader of its GGUF file computes.
#pragma once

#include <string>
#include <vector>

#include "engine/model/model_config.h"

namespace lathe::engine {

/// Names of all properties of the model that a reader of the written file would compute differently, since the format cannot
/// express them.
std::vector<std::string> differences(const ModelConfig& written, const ModelConfig& meant);

}  // namespace lathe::engine
