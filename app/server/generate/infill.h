// SPDX-License-Identifier: Apache-2.0
// Prompts that fill in the middle: a text before and a text after the answer, between tokens that a model was trained on.
#pragma once

#include <string_view>
#include <vector>

#include "engine/api/tokenizer.h"

namespace lathe::app {

/// True if the vocabulary has tokens for filling in the middle.
bool can_infill(const engine::Tokenizer& tokenizer);

/// Returns the ids of a prompt whose answer belongs between `before` and `after`. `add_special`: as Tokenizer::encode().
/// Errors: invalid_argument at "suffix" if the vocabulary has no such tokens; those of Tokenizer::encode().
engine::Result<std::vector<std::int32_t>> encode_infill(const engine::Tokenizer& tokenizer, std::string_view before,
                                                        std::string_view after, bool add_special);

}  // namespace lathe::app
