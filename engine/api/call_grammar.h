// SPDX-License-Identifier: Apache-2.0
// Call grammars: the structured outputs that make an answer call tools in the call format of its model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/api/answer_parser.h"
#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// The calls that an answer may or must have.
struct CallDemand {
  OrderedJson tools = OrderedJson::array();  ///< in OpenAI's form
  std::vector<std::string> names{};          ///< tools that may be called; empty: all of them
  bool is_required = false;  ///< the answer is calls, and all arguments follow their schemas; else it may have calls
  bool is_strict = false;    ///< arguments of all tools follow their schemas; false: those of tools with "strict": true
  bool is_parallel = true;   ///< several calls
  /// A format of structural tags that an answer without calls follows; null: it is free.
  OrderedJson content{};

  bool may_call(std::string_view name) const;
  bool follows_schema(const OrderedJson& function) const;
};

/// The constraint for SamplingParams::structured_outputs. `reading`: how the answer is read; its formats and markers decide
/// how calls are written. Reasoning before them is free, as for all constraints. Errors: invalid_argument; `where` = the
/// member of the tools: "tools[0].function.name". Schemas are compiled when the request is submitted. Requires: the reading
/// has a format of tool calls.
Result<OrderedJson> call_grammar(const CallDemand& demand, const AnswerReading& reading);

/// Why compiling the schemas of a demand fails; nothing if it does not. `where` = "tools[0].function.parameters" and the
/// path of what is wrong.
std::optional<Error> call_schema_error(const CallDemand& demand);

}  // namespace lathe::engine
