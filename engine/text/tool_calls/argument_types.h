// SPDX-License-Identifier: Apache-2.0
// ArgumentTypes: the types that a request's tools give to their arguments.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/api/json.h"

namespace lathe::engine {

class ArgumentTypes {
 public:
  ArgumentTypes() = default;
  /// Reads tools in OpenAI's form; entries of any other form are ignored.
  explicit ArgumentTypes(const Json& tools);

  /// Returns the JSON of an argument that a model wrote as bare text. The text stays a text if the argument's schema allows
  /// one ("type", also as a list, "anyOf", "oneOf", "allOf", "$ref" into the parameters, "enum", "const"), with two
  /// exceptions: "null" becomes null if the schema allows null, and the text of an enum's value that is not a text becomes
  /// that value. Otherwise the text is read as JSON, see json_with_unique_keys(), or as Python's True, False or None; and,
  /// if the schema allows objects or arrays, as a dict, list or tuple of Python.
  std::string json_of(std::string_view tool, std::string_view argument, std::string_view text) const;

  bool has_tools() const { return !parameters_.empty(); }
  bool names_tool(std::string_view name) const;
  /// How json_of() reads the bare text of an argument.
  struct BareText {
    bool may_be_text = false;  ///< the schema allows texts, so bare text is one
    bool may_be_null = false;  ///< but for "null"
  };
  BareText bare_text_of(std::string_view tool, std::string_view argument) const;

  /// Returns whether some tool's name begins with `beginning`. True if the request has no tools.
  bool may_name_tool(std::string_view beginning) const;

 private:
  std::map<std::string, Json, std::less<>> parameters_;  ///< by name of the tool
};

/// Returns `text` as a JSON string, with its quotes.
std::string json_string(std::string_view text);

}  // namespace lathe::engine
