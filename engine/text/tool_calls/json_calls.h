// SPDX-License-Identifier: Apache-2.0
// Tool calls that are JSON: {"name": ..., "arguments": {...}}. Most formats write this between markers.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/api/answer_parser.h"
#include "engine/text/tool_calls/argument_types.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {

/// Returns the size of the JSON value at the beginning of `text`: up to its last bracket or quote, or to the end of a
/// number. The text may be anything; all of it is the value if the value is not closed.
std::size_t json_value_size(std::string_view text);

/// Returns arguments that are written as a JSON object, see json_with_unique_keys(); nothing if `text` is not a JSON object.
std::optional<std::string> arguments_of_json(std::string_view text);

/// Returns the result for a block without a complete call: an empty list if the answer ended inside the block, otherwise
/// nothing, because the block is not a call.
inline std::optional<std::vector<ToolCall>> no_call_or_half(const BlockText& block) {
  return block.is_open ? std::optional<std::vector<ToolCall>>(std::in_place) : std::nullopt;
}

/// Reads objects and lists of objects, separated by white space or ";". All of them must be calls, and there must be at
/// least one. A call has a "name", and "arguments" (or "parameters"), which is an object or a string that holds one. An
/// enclosing {"function": {...}} is removed.
std::optional<std::vector<ToolCall>> calls_of_json(const BlockText& block, const ArgumentTypes& types);

/// Reads calls as calls_of_json() does, in an answer without a marker: an object must have arguments, because otherwise it
/// may be JSON that the user asked for. An object that the answer's end cuts off is an incomplete call if its keys are those
/// of calls, and its name may be the name of a tool.
std::optional<std::vector<ToolCall>> bare_calls_of_json(const BlockText& block, const ArgumentTypes& types);

}  // namespace lathe::engine
