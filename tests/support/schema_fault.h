// SPDX-License-Identifier: Apache-2.0
// schema_fault: a small validator of JSON Schema, for the keywords of the tests' schemas.
#pragma once

#include <algorithm>
#include <string>

#include "engine/api/json.h"

namespace lathe::tests {

inline bool has_type(const std::string& type, const engine::Json& value) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  return type == "integer" ? value.is_number_integer() : value.is_number();
}

/// Why a value does not hold to a schema; empty: it does. Objects may have no properties but those of the schema.
inline std::string schema_fault(const engine::Json& schema, const engine::Json& value) {
  using engine::Json;
  const auto list = [&](const char* name) { return schema.value(name, Json::array()); };
  if (schema.contains("enum") && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    return "enum";
  if (schema.contains("anyOf") && std::none_of(schema["anyOf"].begin(), schema["anyOf"].end(),
                                               [&](const Json& branch) { return schema_fault(branch, value).empty(); }))
    return "anyOf";
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    if (std::none_of(types.begin(), types.end(), [&](const Json& type) { return has_type(type, value); })) return "type";
  }
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    const auto n = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
    if (n < schema.value("minLength", 0) || n > schema.value("maxLength", 1 << 20)) return "length";
  }
  if (value.is_number() && (value < schema.value("minimum", -1e300) || value > schema.value("maximum", 1e300)))
    return "range";
  if (value.is_array()) {
    if (static_cast<int>(value.size()) > schema.value("maxItems", 1 << 20)) return "maxItems";
    for (const Json& item : value) {
      if (std::string fault = schema_fault(schema.value("items", Json::object()), item); !fault.empty())
        return "items." + fault;
    }
  }
  if (!value.is_object()) return {};
  for (const Json& name : list("required")) {
    if (!value.contains(name.get<std::string>())) return "required";
  }
  for (const auto& [name, member] : value.items()) {
    if (!schema.contains("properties") || !schema["properties"].contains(name)) return "additional " + name;
    if (std::string fault = schema_fault(schema["properties"][name], member); !fault.empty()) return name + "." + fault;
  }
  return {};
}

}  // namespace lathe::tests
