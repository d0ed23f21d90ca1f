// SPDX-License-Identifier: Apache-2.0
// Compares a tokenizer that was written in another form with the original.
#pragma once

#include <optional>
#include <string_view>

#include "engine/api/result.h"
#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// Returns a sample text that the two tokenizers encode differently; nothing if they agree on all samples. Errors: those of
/// encode.
Result<std::optional<std::string_view>> differing_sample(const Tokenizer& written, const Tokenizer& meant);

/// Returns whether `written` encodes text after a special token as `meant` encodes the text with a space before it. Errors:
/// those of encode.
Result<bool> adds_space_behind(const Tokenizer& written, const Tokenizer& meant, std::string_view special_token);

}  // namespace lathe::engine
