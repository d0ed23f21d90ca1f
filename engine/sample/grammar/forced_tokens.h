// SPDX-License-Identifier: Apache-2.0
// forced_tokens(): the tokenizer's own tokens of the text that a grammar forces next.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/api/tokenizer.h"
#include "engine/sample/grammar/matcher.h"

namespace lathe::engine::grammar {

/// Forced bytes that are read at once; what is forced behind them comes with the next call.
inline constexpr std::size_t kMaxForcedBytes = 1024;

/// Tokens that must be next, whatever the model says; empty: there is a choice. `before`: end of the text so far, behind
/// which the forced text is encoded. Left out, with what follows them: tokens at the end that a token could cover that goes
/// on behind the forced text, those in `never`, and text that the tokenizer does not give back as it is. The same for the
/// same arguments. Thread: that of the matcher, which reads no token.
std::vector<std::int32_t> forced_tokens(Matcher& matcher, const Tokenizer& tokenizer, std::string_view before,
                                        std::span<const std::int32_t> never);

}  // namespace lathe::engine::grammar
