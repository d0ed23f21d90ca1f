// SPDX-License-Identifier: Apache-2.0
// Short texts of many kinds, part of the program, for seeing how large a model's activations become.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/api/result.h"
#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// Tokens of each text, as many as `max_model_len` and the calibration take: at most 64 of each, 512 in all.
/// Errors: those of the tokenizer.
Result<std::vector<std::vector<std::int32_t>>> calibration_tokens(const Tokenizer& tokenizer, std::int64_t max_model_len);

}  // namespace lathe::engine
