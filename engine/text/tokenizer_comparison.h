// SPDX-License-Identifier: Apache-2.0
// Whether a tokenizer that was written in another form reads what the one that was meant does.
#pragma once

#include <optional>
#include <string_view>

#include "engine/api/result.h"
#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// A text out of which the two read other tokens; nothing: they agree on all that they were asked. Errors: those of encode.
Result<std::optional<std::string_view>> differing_sample(const Tokenizer& written, const Tokenizer& meant);

/// Whether text behind a special token is to `written` what it is to `meant` with a space before it. Errors: those of
/// encode.
Result<bool> adds_space_behind(const Tokenizer& written, const Tokenizer& meant, std::string_view special_token);

}  // namespace lathe::engine
