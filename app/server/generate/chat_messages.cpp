// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/chat_messages.h"

#include <algorithm>
#include <array>

#include "app/log/printable.h"
#include "app/server/request_body.h"
#include "engine/api/python_json.h"

namespace lathe::app {
namespace {

using engine::ChatMessage;
using engine::ErrorCode;
using engine::Json;
using engine::Result;
using engine::ToolCall;

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};

/// A kind of content part, and the member with its text.
struct PartKind {
  std::string_view type, member;
  bool of_assistant = false;  ///< allowed only in messages of the assistant
  bool is_reasoning = false;
};

// THE TABLE of content parts, with the names of OpenAI and Anthropic.
constexpr std::array kParts = {
    PartKind{"text", "text"},
    PartKind{"input_text", "text"},
    PartKind{"output_text", "text", true},
    PartKind{"refusal", "refusal", true},
    PartKind{"thinking", "thinking", true, true},
    PartKind{"reasoning", "reasoning", true, true},
    PartKind{"redacted_thinking", {}, true, true},
};

// Members of content parts and of calls that clients send back as they came, or that change no answer.
constexpr KnownField kPartFields[] = {
    {.name = "id", .fate = FieldFate::harmless},
    {.name = "index", .fate = FieldFate::harmless},
    {.name = "type", .fate = FieldFate::harmless},
    {.name = "annotations", .fate = FieldFate::harmless},
    {.name = "citations", .fate = FieldFate::harmless},
    {.name = "logprobs", .fate = FieldFate::harmless},
    {.name = "cache_control", .fate = FieldFate::harmless},
    {.name = "provider_specific_fields", .fate = FieldFate::harmless},
};

/// Hands warnings of members that are not read to `reader`.
Result<void> read_part(const Json& json, const std::string& path, RequestFields& reader, ChatMessage& message) {
  if (!json.is_object())
    return engine::fail(ErrorCode::invalid_argument, "must be an object with \"type\" and \"text\"", path);
  RequestFields part(json, path);
  const std::string type = part.text("type").value_or("text");
  const auto kind = std::find_if(kParts.begin(), kParts.end(), [&](const PartKind& row) {
    return row.type == type && (!row.of_assistant || message.role == "assistant");
  });
  if (kind == kParts.end()) part.refuse("type", "this model reads only text, not \"" + printable(type, 40) + "\"");
  LATHE_TRY_VOID(part.verdict());
  if (kind->is_reasoning) {
    // Reasoning of any shape is accepted: a client sends back what some server gave it, and many templates ignore it.
    const Json* words = part.any(kind->member);
    if (words == nullptr) words = part.any("text");
    if (words != nullptr && words->is_string()) add_reasoning(message, words->get<std::string>());
    return {};
  }
  auto text = part.text(kind->member);
  if (!text) part.refuse(kind->member, "is missing");
  LATHE_TRY_VOID(part.verdict());
  warn_of_unread_fields(part, kPartFields);
  reader.take_over(part);
  add_part(message, *std::move(text));
  return {};
}

/// Reads a text or a list of parts. Images and sounds are refused.
Result<void> read_content(RequestFields& reader, ChatMessage& message) {
  const Json* content = reader.any("content");
  if (content == nullptr || !content->is_array()) {
    message.content = reader.text("content").value_or("");
    if (content == nullptr && message.role != "assistant") reader.refuse("content", "is missing");
    return {};
  }
  for (std::size_t i = 0; i < content->size(); ++i) {
    LATHE_TRY_VOID(read_part((*content)[i], reader.path_of("content") + "[" + std::to_string(i) + "]", reader, message));
  }
  return {};
}

Result<ToolCall> read_call(const Json& json, const std::string& path, RequestFields& message) {
  if (!json.is_object())
    return engine::fail(ErrorCode::invalid_argument, "must be an object with \"id\", \"type\" and \"function\"", path);
  RequestFields reader(json, path);
  ToolCall call;
  call.id = reader.text("id").value_or("");
  if (reader.text("type").value_or("function") != "function") reader.refuse("type", "must be \"function\"");
  const Json* function = reader.object("function");
  if (function == nullptr) reader.refuse("function", "is missing");
  LATHE_TRY_VOID(reader.verdict());
  RequestFields inner(*function, reader.path_of("function"));
  call.name = inner.text("name").value_or("");
  if (call.name.empty()) inner.refuse("name", "is missing or empty");
  call.arguments = inner.text("arguments").value_or("");
  LATHE_TRY_VOID(inner.verdict());
  check_arguments(inner, call.arguments);
  for (RequestFields* part : {&reader, &inner}) {
    warn_of_unread_fields(*part, kPartFields);
    message.take_over(*part);
  }
  return call;
}

/// Reads the fields that only messages of the assistant have: tool calls, a refusal, and reasoning under vLLM's name or the
/// older one; these reasoning fields replace reasoning among the content's parts.
Result<void> read_assistant(RequestFields& reader, ChatMessage& message) {
  for (const char* name : {"thinking", "reasoning_content", "reasoning"}) {
    if (auto reasoning = reader.text(name)) message.reasoning = *std::move(reasoning);
  }
  if (const auto refusal = reader.text("refusal"); refusal && message.content.empty()) message.content = *refusal;
  const Json* calls = reader.array("tool_calls");
  for (std::size_t i = 0; calls != nullptr && i < calls->size(); ++i) {
    LATHE_TRY(ToolCall call, read_call((*calls)[i], reader.path_of("tool_calls") + "[" + std::to_string(i) + "]", reader));
    message.tool_calls.push_back(std::move(call));
  }
  return {};
}

/// Hands warnings of members that are not read to `body`.
Result<ChatMessage> read_message(const Json& json, const std::string& path, RequestFields& body) {
  if (!json.is_object())
    return engine::fail(ErrorCode::invalid_argument, "must be an object with \"role\" and \"content\"", path);
  RequestFields reader(json, path);
  ChatMessage message;
  message.role = reader.text("role").value_or("");
  if (std::find(kRoles.begin(), kRoles.end(), message.role) == kRoles.end()) {
    reader.refuse("role", "must be system, developer, user, assistant or tool, got \"" + printable(message.role, 40) + "\"");
  }
  // OpenAI's newer name; templates of open models know the older one
  if (message.role == "developer") message.role = "system";
  LATHE_TRY_VOID(read_content(reader, message));
  message.name = reader.text("name").value_or("");
  if (message.role == "tool") {
    message.tool_call_id = reader.text("tool_call_id").value_or("");
    if (message.name.empty()) message.name = reader.text("tool_name").value_or("");
  }
  if (message.role == "assistant") {
    LATHE_TRY_VOID(read_assistant(reader, message));
  } else if (const Json* calls = reader.array("tool_calls"); calls != nullptr && !calls->empty()) {
    reader.refuse("tool_calls", "only messages of the assistant may have tool calls");
  }
  refuse_unserved_fields(reader, {}, message_fields());
  LATHE_TRY_VOID(reader.verdict());
  warn_of_unread_fields(reader, message_fields());
  body.take_over(reader);
  return message;
}

}  // namespace

void check_arguments(RequestFields& call, const std::string& arguments) {
  if (arguments.empty()) return;
  const auto parsed = engine::parse_python_ordered_json(arguments, "arguments");
  if (!parsed) call.warn("arguments", "was replaced by {} in the prompt: " + printable(parsed.error().message, 200));
}

void add_part(ChatMessage& message, std::string text) {
  message.content += (message.parts.empty() ? "" : "\n") + text;
  message.parts.push_back(std::move(text));
}

void add_reasoning(ChatMessage& message, const std::string& text) {
  message.reasoning += (message.reasoning.empty() ? "" : "\n") + text;
}

Result<std::vector<ChatMessage>> read_messages_field(RequestFields& body) {
  const Json* messages = body.array("messages");
  if (messages == nullptr || messages->empty()) body.refuse("messages", "must be a list of at least one message");
  LATHE_TRY_VOID(body.verdict());
  std::vector<ChatMessage> read;
  for (std::size_t i = 0; i < messages->size(); ++i) {
    LATHE_TRY(ChatMessage message, read_message((*messages)[i], "messages[" + std::to_string(i) + "]", body));
    read.push_back(std::move(message));
  }
  return read;
}

}  // namespace lathe::app
