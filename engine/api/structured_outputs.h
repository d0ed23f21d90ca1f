// SPDX-License-Identifier: Apache-2.0
// Checks the JSON of SamplingParams::structured_outputs without a model.
#pragma once

#include <string_view>

#include "engine/api/result.h"

namespace lathe::engine {

/// Compiles the constraint. Errors: invalid_argument; `where` = "structured_outputs" and the path of what is wrong.
Result<void> check_structured_outputs(std::string_view text);

}  // namespace lathe::engine
