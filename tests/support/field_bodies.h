// SPDX-License-Identifier: Apache-2.0
// Bodies of the routes that generate text, with fields to be tested, and the warnings of their answers.
#pragma once

#include <string>

#include "engine/api/json.h"

namespace lathe::tests {

constexpr const char* kFieldRoutes[] = {"/v1/completions", "/v1/chat/completions"};

/// The fields with the prompt or the messages that the route needs.
inline engine::Json field_body(const std::string& route, engine::Json fields) {
  if (route == "/v1/completions") fields["prompt"] = "ab";
  else fields["messages"] = {{{"role", "user"}, {"content", "ab"}}};
  return fields;
}

/// The message of the warning of a field in an answer; empty: there is none.
inline std::string warning_of(const engine::Json& answer, const std::string& name) {
  for (const engine::Json& warning : answer.value("warnings", engine::Json::array())) {
    if (warning["param"] == name) return warning["message"].get<std::string>();
  }
  return {};
}

}  // namespace lathe::tests
