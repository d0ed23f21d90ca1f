// SPDX-License-Identifier: Apache-2.0
// Translation of regular expressions from the syntax of Oniguruma, which tokenizer.json uses, to that of PCRE2.
#pragma once

#include <string>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::engine {

/// Returns an expression of PCRE2 (options UTF, UCP and MULTILINE) with the same matches. Nested classes and intersections
/// become alternatives and lookaheads of one character; escapes and brackets such as \w and [[:punct:]] become properties.
/// Errors: model_refused with the offset and the part that cannot be translated.
/// Source: Oniguruma's doc/RE, syntax ONIG_SYNTAX_ONIGURUMA.
Result<std::string> pcre2_of_oniguruma(std::string_view pattern);

}  // namespace lathe::engine
