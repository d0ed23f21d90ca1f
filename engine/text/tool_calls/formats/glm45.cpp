// SPDX-License-Identifier: Apache-2.0
// <tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>: GLM-4.5 and later.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/markup.h"
#include "engine/text/tool_calls/named_values.h"

namespace lathe::engine {
namespace {

std::optional<std::vector<ToolCall>> parse(std::string_view body, const ArgumentTypes& types) {
  const std::string_view name = trimmed(body.substr(0, body.find("<arg_key>")));
  if (name.empty() || name.find_first_of("{}<>\n ") != name.npos) return std::nullopt;
  NamedValues values(name, types);
  Markup rest(trimmed(body));
  rest.skip(name);
  for (rest.skip_blanks(); rest.skip("<arg_key>"); rest.skip_blanks()) {
    const auto key = rest.until("</arg_key>");
    rest.skip_blanks();
    const auto value = key && rest.skip("<arg_value>") ? rest.until("</arg_value>") : std::nullopt;
    if (!value) return std::nullopt;
    values.add(trimmed(*key), *value);
  }
  if (!rest.at_end()) return std::nullopt;
  return std::vector<ToolCall>{values.call()};
}

}  // namespace

constexpr CallFormat kGlm45Calls = {.name = "glm45",
                                    .other_names = {"glm47"},
                                    .telltales = {"<tool_call>", "<arg_key>"},
                                    .begins = {"<tool_call>"},
                                    .wraps = {},
                                    .bare = {},
                                    .end_rule = BlockEnd::marker,
                                    .end = "</tool_call>",
                                    .parse = parse};

}  // namespace lathe::engine
