// SPDX-License-Identifier: Apache-2.0
// Short built-in texts of many kinds, from which calibration measures how large a model's activations become.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/api/result.h"
#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// Tokens of each text, cut to `max_model_len` and to the limit of the calibration: at most 64 of each, 512 in all. Errors:
/// those of the tokenizer.
Result<std::vector<std::vector<std::int32_t>>> calibration_tokens(const Tokenizer& tokenizer, std::int64_t max_model_len);

}  // namespace lathe::engine
