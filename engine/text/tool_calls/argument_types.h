// SPDX-License-Identifier: Apache-2.0
// What a request's tools say about the types of their arguments.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/api/json.h"

namespace lathe::engine {

class ArgumentTypes {
 public:
  ArgumentTypes() = default;
  /// Of tools as OpenAI has them; whatever has another shape is passed over.
  explicit ArgumentTypes(const Json& tools);

  /// The JSON of an argument that a model wrote as bare text. The text stays a text where the argument's schema allows one
  /// ("type", also as a list, "anyOf", "oneOf", "allOf", "$ref" into the parameters, "enum", "const"); but it is null where
  /// it spells that and the schema allows null, and the value of an enum that it spells. Otherwise it is the JSON that the
  /// text spells (or Python's True, False, None), if it spells any.
  std::string json_of(std::string_view tool, std::string_view argument, std::string_view text) const;

  /// Whether a tool has a name that begins so. Without any tool every name may.
  bool may_name_tool(std::string_view beginning) const;

 private:
  std::map<std::string, Json, std::less<>> parameters_;  ///< by name of the tool
};

/// `text` as a JSON string, with its quotes.
std::string json_string(std::string_view text);

}  // namespace lathe::engine
