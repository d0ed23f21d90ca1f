// SPDX-License-Identifier: Apache-2.0
// Spelling: how the characters of a text are written in an answer, as they are or inside a string of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/sample/grammar/code_points.h"
#include "engine/sample/grammar/grammar_builder.h"

namespace lathe::engine::grammar {

/// json: a character has one spelling: itself, or the shortest escape where JSON needs one.
enum class Spelling : std::uint8_t { plain, json };

/// Characters that a string of JSON may have without an escape.
const CodePointSet& json_plain_characters();

/// Adds edges that read one character of the set.
void append_characters(GrammarBuilder& builder, NodeId from, const CodePointSet& set, NodeId to, Spelling spelling);
/// Appends a text; returns the node behind it. Invalid UTF-8 is refused.
NodeId append_text(GrammarBuilder& builder, NodeId from, std::string_view text, Spelling spelling);
std::string json_escape(char32_t code_point);

}  // namespace lathe::engine::grammar
