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

  /// The JSON of an argument that a model wrote as bare text. A tool that says "string" gets the text; otherwise it is the
  /// JSON that the text spells (or Python's True, False, None), if it spells any.
  std::string json_of(std::string_view tool, std::string_view argument, std::string_view text) const;

 private:
  std::map<std::string, Json, std::less<>> properties_;  ///< by name of the tool
};

/// `text` as a JSON string, with its quotes.
std::string json_string(std::string_view text);

}  // namespace lathe::engine
