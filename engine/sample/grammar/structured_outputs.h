// SPDX-License-Identifier: Apache-2.0
// StructuredOutputs: what an answer must be, in vLLM's form: {"json": SCHEMA}, {"regex": "..."}, {"choice": [...]},
// {"grammar": "..."}, {"json_object": true} or {"structural_tag": ...}.
// Source: vLLM, StructuredOutputsParams; its "disable_any_whitespace" and "whitespace_pattern" are read, and "whitespace":
// "flexible", "fixed" or "none", and "jump_ahead": false.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/sample/grammar/automaton.h"

namespace lathe::engine::grammar {

enum class ConstraintKind : std::uint8_t { json, json_object, regex, choice, grammar, structural_tag };
std::string_view name_of(ConstraintKind kind);  ///< as the member is called

/// A compiled constraint.
struct Constraint {
  ConstraintKind kind = ConstraintKind::json;
  std::shared_ptr<const Automaton> automaton;
  std::int64_t compile_us = 0;
  bool jump_ahead = true;  ///< forced tokens may be appended without a step for each
};

/// Compiles the constraint of a JSON text. Errors: invalid_argument; `where` = "structured_outputs" and the path of what is
/// wrong; a position in an expression or grammar is in the message.
Result<Constraint> compile_constraint(std::string_view text, const GrammarLimits& limits = {});

}  // namespace lathe::engine::grammar
