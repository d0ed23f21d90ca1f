// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/argument_types.h"

#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

/// The member of that name, if `json` is an object that has it.
const Json* member(const Json& json, std::string_view name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() ? nullptr : &*found;
}

}  // namespace

ArgumentTypes::ArgumentTypes(const Json& tools) {
  if (!tools.is_array()) return;
  for (const Json& tool : tools) {
    const Json* function = member(tool, "function");
    if (function == nullptr) continue;
    const Json* name = member(*function, "name");
    const Json* parameters = member(*function, "parameters");
    const Json* properties = parameters == nullptr ? nullptr : member(*parameters, "properties");
    if (name != nullptr && name->is_string() && properties != nullptr) properties_[name->get<std::string>()] = *properties;
  }
}

std::string ArgumentTypes::json_of(std::string_view tool, std::string_view argument, std::string_view text) const {
  if (const auto found = properties_.find(tool); found != properties_.end()) {
    const Json* property = member(found->second, argument);
    const Json* type = property == nullptr ? nullptr : member(*property, "type");
    if (type != nullptr && *type == "string") return json_string(text);
  }
  const std::string_view bare = trimmed(text);
  if (bare == "True") return "true";
  if (bare == "False") return "false";
  if (bare == "None") return "null";
  return parse_json(bare, "") ? std::string(bare) : json_string(text);
}

std::string json_string(std::string_view text) { return dump_json(Json(std::string(text))); }

}  // namespace lathe::engine
