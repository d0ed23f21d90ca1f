// SPDX-License-Identifier: Apache-2.0
// NamedValues: builds the JSON of a call from arguments that a model wrote one by one, as keys with bare texts.
#pragma once

#include <string>
#include <string_view>

#include "engine/api/answer_parser.h"
#include "engine/text/tool_calls/argument_types.h"
#include "engine/text/tool_calls/unique_keys.h"

namespace lathe::engine {

class NamedValues {
 public:
  /// Requires: `types` outlives this object.
  NamedValues(std::string_view tool, const ArgumentTypes& types) : tool_(tool), types_(types) {}

  void add(std::string_view key, std::string_view value) {
    json_ += (json_.empty() ? "" : ", ") + json_string(key) + ": " + types_.json_of(tool_, key, value);
  }
  ToolCall call() const {
    const std::string json = "{" + json_ + "}";
    return {tool_, json_with_unique_keys(json).value_or(json), {}};
  }

 private:
  std::string tool_, json_;
  const ArgumentTypes& types_;
};

}  // namespace lathe::engine
