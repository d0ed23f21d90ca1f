// SPDX-License-Identifier: Apache-2.0
// Converts tools of a flat form ({"type", "name", "description", "parameters"}) to the nested form that chat templates read.
// Sources: Anthropic's Messages API; OpenAI's Responses API.
#pragma once

#include <string_view>

#include "app/server/request_body.h"
#include "app/server/request_fields.h"
#include "engine/api/json.h"

namespace lathe::app {

/// The words of one dialect for its tools.
struct FlatToolForm {
  std::string_view type;            ///< type of a tool that the client runs
  bool type_is_optional = false;    ///< a tool without a type has that type
  std::string_view schema;          ///< member with the schema of the arguments
  bool schema_is_optional = false;  ///< a tool without a schema takes no arguments
  std::string_view left_out = {};   ///< types, separated by blanks, that are left out with a warning
};

/// Returns OpenAI's list of the tools in "tools" of `body`; null if there are none. `ordered`: the body with its keys in
/// their order, in which templates write them. Tools of other types are run by the server of the protocol's author: they are
/// left out or refused by name. Errors are recorded in `body`.
engine::OrderedJson nest_tools(RequestFields& body, const engine::OrderedJson& ordered, const FlatToolForm& form);

/// Gives errors in the nested tools of `given` the names of the flat form. `original`: the body that nest_tools() read.
void name_flat_tools(RequestBody& given, const engine::Json& original, const FlatToolForm& form);

}  // namespace lathe::app
