// SPDX-License-Identifier: Apache-2.0
// Reads the fields that say what an answer must be: response_format of OpenAI and of TGI, structured_outputs and guided_* of
// vLLM, json_schema and grammar of llama.cpp, json_schema, regex, ebnf and structural_tag of SGLang.
#pragma once

#include <memory>
#include <string>

#include "app/server/request_body.h"
#include "engine/api/call_grammar.h"
#include "engine/api/sampling_params.h"

namespace lathe::app {

/// The constraint that a request asks for. Default: none.
struct StructuredFields {
  std::string json;        ///< for SamplingParams::structured_outputs
  std::string given_path;  ///< path of the schema, expression, ... in the request: "response_format.json_schema.schema"
  std::string own_path;    ///< the same in `json`: "structured_outputs.json"
  std::shared_ptr<const engine::CallDemand> calls{};  ///< set: `json` is the grammar of these calls
  std::string content{};  ///< with `calls`: the constraint of an answer without calls; empty: none

  /// An error with its place as the request has it.
  engine::Error in_given_names(engine::Error error) const;
};

/// Makes the grammar of calls, which an answer without calls may do without, the constraint. Forced calls leave no place for
/// what the request asks of the content. Errors: those of engine::call_grammar(); invalid_argument for a constraint of the
/// content that cannot be part of a grammar.
engine::Result<void> constrain_calls(StructuredFields& fields, engine::CallDemand calls,
                                     const engine::AnswerReading& reading);

/// `body` reads `given`, which has the properties of schemas in their order. Errors are recorded in `body`; two constraints
/// are refused with the names of both. What is wrong inside of a constraint, the engine says when it compiles it.
StructuredFields read_structured_fields(RequestFields& body, const RequestBody& given);

}  // namespace lathe::app
