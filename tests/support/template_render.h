// SPDX-License-Identifier: Apache-2.0
// Renders a template to text or to its error, for tests.
#pragma once

#include <string>

#include "engine/text/template/builtins/to_json.h"
#include "engine/text/template/interpreter.h"
#include "engine/text/template/syntax/parser.h"

namespace lathe::tests {

/// The text; "error: message @ line:column" when compiling or rendering fails.
inline std::string rendered(const std::string& source, const engine::Json& variables = engine::Json::object(),
                            const engine::jinja::Limits& limits = {}) {
  namespace jinja = engine::jinja;
  jinja::Variables values;
  for (const auto& [name, value] : variables.items())
    values.emplace_back(name, jinja::from_json(value, jinja::Source::request));
  try {
    return jinja::render(jinja::parse_template(source), std::move(values), limits).text();
  } catch (const jinja::Failure& failure) {
    return "error: " + failure.message() + " @ " + std::to_string(failure.at().line) + ":" +
           std::to_string(failure.at().column);
  }
}

}  // namespace lathe::tests
