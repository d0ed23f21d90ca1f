// SPDX-License-Identifier: Apache-2.0
// Grammars in EBNF as llama.cpp (GBNF), XGrammar and SGLang write them: root ::= "a" [b-c]* (d | "e"){2,3}
// Source: llama.cpp, grammars/README.md.
#pragma once

#include <string_view>

#include "engine/sample/grammar/grammar_builder.h"

namespace lathe::engine::grammar {

/// Appends the texts of the rule "root". Errors: in the builder, with the byte at which the text is wrong.
NodeId append_ebnf(GrammarBuilder& builder, NodeId from, std::string_view text);

}  // namespace lathe::engine::grammar
