// SPDX-License-Identifier: Apache-2.0
#include "engine/api/generic_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "engine/api/exact_json.h"
#include "engine/api/python_json.h"
#include "engine/text/tool_calls/call_format.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

const CallFormat& generic_format() {
  const CallFormat* format = find_call_format(kGenericCallFormat);
  LATHE_CHECK(format != nullptr);
  return *format;
}

/// A call as the model is to write it. `name`, `arguments`: JSON.
std::string generic_call(std::string_view name, std::string_view arguments) {
  const CallFormat& format = generic_format();
  return fmt::format("{}\n{{\"name\": {}, \"arguments\": {}}}\n{}", format.begins.front(), name, arguments, format.end);
}

/// The text that explains the tools. `tools`: OpenAI's list.
std::string tools_text(const OrderedJson& tools) {
  std::string lines;
  for (const OrderedJson& tool : tools) lines += dump_exact_json(tool.contains("function") ? tool["function"] : tool) + "\n";
  return fmt::format(
      "You can use tools. Each line between <tools> and </tools> describes one: its name, its purpose, and the JSON schema "
      "of "
      "its arguments.\n<tools>\n{}</tools>\nTo call a tool, write its name and its arguments as JSON in this form:\n{}\n"
      "Further calls follow in the same form, and nothing follows the last one. The next message brings the results between "
      "<tool_response> and </tool_response>. Answer in plain text when no tool is needed.",
      lines, generic_call("\"TOOL\"", "{\"ARGUMENT\": \"VALUE\"}"));
}

/// Templates get {} for arguments that are not a JSON object, and so does the text.
std::string text_of(const ToolCall& call) {
  const auto parsed = parse_python_ordered_json(call.arguments, "arguments");
  const bool is_object = parsed && parsed->is_object();
  return generic_call(dump_json(OrderedJson(call.name)), is_object ? dump_exact_json(*parsed) : "{}");
}

void append_text(ChatMessage& message, std::string text, std::string_view gap) {
  message.content += (message.content.empty() ? "" : std::string(gap)) + text;
  if (!message.parts.empty()) message.parts.push_back(std::move(text));
}

void prepend_text(ChatMessage& message, const std::string& text) {
  message.content = text + (message.content.empty() ? "" : "\n\n") + message.content;
  if (!message.parts.empty()) message.parts.insert(message.parts.begin(), text);
}

bool has_role(const ChatMessage& message, std::string_view role) { return message.role == role; }

/// The name of the tool whose result a message is; empty: the chat does not say.
std::string tool_of(const ChatMessage& result, std::span<const ChatMessage> earlier) {
  if (!result.name.empty() || result.tool_call_id.empty()) return result.name;
  for (auto message = earlier.rbegin(); message != earlier.rend(); ++message) {
    for (const ToolCall& call : message->tool_calls) {
      if (call.id == result.tool_call_id) return call.name;
    }
  }
  return {};
}

std::string result_text(const ChatMessage& result, std::span<const ChatMessage> earlier) {
  const std::string tool = tool_of(result, earlier);
  const std::string of_tool = tool.empty() ? "" : fmt::format(" name={}", dump_json(OrderedJson(tool)));
  return fmt::format("<tool_response{}>\n{}\n</tool_response>", of_tool, result.content);
}

/// Turns calls and results into texts.
std::vector<ChatMessage> without_tool_turns(const std::vector<ChatMessage>& messages) {
  std::vector<ChatMessage> out;
  bool follows_result = false;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    const bool is_result = has_role(message, "tool");
    const auto earlier = std::span(messages).first(i);
    if (is_result && follows_result) append_text(out.back(), result_text(message, earlier), "\n");
    else if (is_result) out.push_back({"user", result_text(message, earlier)});
    else if (follows_result && has_role(message, "user")) append_text(out.back(), message.content, "\n\n");
    else out.push_back(message);
    follows_result = is_result;
    for (const ToolCall& call : std::exchange(out.back().tool_calls, {})) append_text(out.back(), text_of(call), "\n");
  }
  return out;
}

/// The chat with the text as, or behind, its system message.
std::vector<ChatMessage> with_system_text(std::vector<ChatMessage> messages, const std::string& text) {
  if (messages.empty() || !has_role(messages.front(), "system")) messages.insert(messages.begin(), {"system", text});
  else append_text(messages.front(), text, "\n\n");
  return messages;
}

/// The chat with the text before that of its first user.
std::vector<ChatMessage> with_user_text(std::vector<ChatMessage> messages, const std::string& text) {
  const auto is_user = [](const ChatMessage& message) { return has_role(message, "user"); };
  const auto user = std::find_if(messages.begin(), messages.end(), is_user);
  if (user != messages.end()) {
    prepend_text(*user, text);
  } else {
    const bool has_system = !messages.empty() && has_role(messages.front(), "system");
    messages.insert(messages.begin() + (has_system ? 1 : 0), {"user", text});
  }
  return messages;
}

}  // namespace

bool has_generic_tools(const Engine& engine) {
  const LoadedModel& model = engine.model();
  const ChatTemplate* chat_template = engine.chat_template();
  // The template for chats without tools is rendered. Calls of gpt-oss are read with its reasoning.
  return chat_template != nullptr && !chat_template->source(false).empty() &&
         model.options.tool_call_parser == kParserOfTemplate && model.answer_formats_with_tools.tool_calls.empty() &&
         model.answer_formats.reasoning != "openai_gptoss";
}

AnswerReading generic_reading(const LoadedModel& model, const Tokenizer& tokenizer) {
  AnswerFormats formats = {std::string(kGenericCallFormat), model.answer_formats.reasoning};
  const std::vector<AnswerMarker> markers = answer_markers(formats, tokenizer);
  return answer_reading(std::move(formats), markers);
}

bool needs_generic_tools(const std::vector<ChatMessage>& messages, const ChatRenderOptions& options) {
  const auto is_tool_turn = [](const ChatMessage& message) {
    return has_role(message, "tool") || !message.tool_calls.empty();
  };
  return !options.tools.is_null() || std::any_of(messages.begin(), messages.end(), is_tool_turn);
}

Result<std::vector<TextSpan>> render_generic_tools(const ChatTemplate& chat_template, std::vector<ChatMessage> messages,
                                                   ChatRenderOptions options) {
  messages = without_tool_turns(messages);
  const OrderedJson tools = std::exchange(options.tools, OrderedJson());
  if (tools.is_null()) return chat_template.render(messages, options);
  const std::string text = tools_text(tools);
  const auto spans = chat_template.render(with_system_text(messages, text), options);
  if (spans && joined(*spans).find(text) != std::string::npos) return spans;
  return chat_template.render(with_user_text(std::move(messages), text), options);
}

}  // namespace lathe::engine
