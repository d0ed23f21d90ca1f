// SPDX-License-Identifier: Apache-2.0
// Tool calls that are JSON: {"name": ..., "arguments": {...}}. Most formats are this between markers.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/api/answer_parser.h"
#include "engine/text/tool_calls/argument_types.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {

/// Bytes of the JSON value at the beginning of `text`: up to its last bracket or quote, or what ends a number. The text may
/// be anything; of a value that is not closed it is all.
std::size_t json_value_size(std::string_view text);

/// The arguments that are a JSON object on their own. None: it is not.
std::optional<std::string> arguments_of_json(std::string_view text);

/// The result for a block that is no whole call: an empty list where the answer ended in it, none where it is no call.
inline std::optional<std::vector<ToolCall>> no_call_or_half(const BlockText& block) {
  return block.is_open ? std::optional<std::vector<ToolCall>>(std::in_place) : std::nullopt;
}

/// Objects and lists of objects, with white space or ";" between them; all must be calls, and there must be one. A call has
/// a "name", and "arguments" (or "parameters"): an object, or a string that holds one. {"function": {...}} around it is
/// taken off.
std::optional<std::vector<ToolCall>> calls_of_json(const BlockText& block, const ArgumentTypes& types);

/// The same without a marker that says so: only with arguments is it more than JSON that was asked for. An object that the
/// answer's end cuts off is half a call if its keys are those of calls, and its name may be a tool's.
std::optional<std::vector<ToolCall>> bare_calls_of_json(const BlockText& block, const ArgumentTypes& types);

}  // namespace lathe::engine
