// SPDX-License-Identifier: Apache-2.0
// Chats with a tool: a template that shows tools and calls, one tool, and a call of it in the form "hermes".
#pragma once

#include "tests/support/chat_stream.h"
#include "tests/support/server_fixture.h"

namespace lathe::tests {

constexpr const char* kToolTemplate =
    "{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.tool_call_id }}{{ m.content }}{% for c in m.tool_calls or [] %}"
    "({{ c.id }} {{ c.function.name }} {{ c.function.arguments | tojson }}){% endfor %}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";

constexpr const char* kTools =
    R"([{"type":"function","function":{"name":"weather","description":"Of a city.","parameters":)"
    R"({"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}}])";

constexpr const char* kCall = R"(<tool_call>{"name": "weather", "arguments": {"city": "Zürich", "days": 2}}</tool_call>)";
constexpr const char* kArguments = R"({"city": "Zürich", "days": 2})";

/// The body of a chat with that tool; `more` replaces and adds fields.
inline engine::Json with_tools(const engine::Json& more = engine::Json::object()) {
  engine::Json body = chat_body("Rain?", {{"tools", engine::Json::parse(kTools)}});
  body.update(more);
  return body;
}

/// A server whose model writes calls in that form.
inline ServerFixture::Options tool_options() {
  ServerFixture::Options options;
  options.model.chat_template = kToolTemplate;
  options.model.answer_formats.tool_calls = "hermes";
  return options;
}

/// As tool_options(), with reasoning in the form of Qwen 3.
inline ServerFixture::Options thinking_tool_options() {
  ServerFixture::Options options = tool_options();
  options.model.answer_formats.reasoning = "qwen3";
  return options;
}

}  // namespace lathe::tests
