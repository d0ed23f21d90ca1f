// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/chat_prompt.h"

#include <algorithm>
#include <array>

#include "app/log/printable.h"

namespace lathe::app::openai {
namespace {

using engine::ChatMessage;
using engine::ErrorCode;
using engine::Json;

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};

/// What the server itself gives to templates: a request may not set it.
constexpr std::array<std::string_view, 12> kReservedVariables = {"messages",
                                                                 "tools",
                                                                 "documents",
                                                                 "add_generation_prompt",
                                                                 "continue_final_message",
                                                                 "bos_token",
                                                                 "eos_token",
                                                                 "unk_token",
                                                                 "pad_token",
                                                                 "chat_template",
                                                                 "tokenize",
                                                                 "raise_exception"};

/// The texts of a content array, one a line. Images and sounds are refused.
std::string read_parts(FieldReader& message, const Json& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string name = "content[" + std::to_string(i) + "]";
    if (!parts[i].is_object()) {
      message.refuse(name, "must be an object with \"type\" and \"text\"");
      return {};
    }
    FieldReader part(parts[i], message.path_of(name));
    const std::string type = part.text("type").value_or("text");
    if (type != "text") part.refuse("type", "this model reads text alone, not \"" + printable(type, 40) + "\"");
    const auto piece = part.text("text");
    if (!piece) part.refuse("text", "is missing");
    if (const auto verdict = part.verdict(); !verdict) {
      message.refuse(name, verdict.error().message);
      return {};
    }
    text += (i > 0 ? "\n" : "") + *piece;
  }
  return text;
}

engine::Result<ChatMessage> read_message(const Json& json, const std::string& path) {
  if (!json.is_object())
    return engine::fail(ErrorCode::invalid_argument, "must be an object with \"role\" and \"content\"", path);
  FieldReader reader(json, path);
  ChatMessage message;
  message.role = reader.text("role").value_or("");
  if (std::find(kRoles.begin(), kRoles.end(), message.role) == kRoles.end()) {
    reader.refuse("role", "must be system, developer, user, assistant or tool, got \"" + printable(message.role, 40) + "\"");
  }
  if (message.role == "developer") message.role = "system";  // OpenAI's newer word; templates of open models know the older
  if (const Json* calls = reader.any("tool_calls"); calls != nullptr && !calls->empty())
    reader.refuse("tool_calls", "tool calls are not served here");
  const Json* content = reader.any("content");
  if (content != nullptr && content->is_array()) {
    message.content = read_parts(reader, *content);
  } else if (content != nullptr) {
    message.content = reader.text("content").value_or("");
  } else if (message.role != "assistant") {
    reader.refuse("content", "is missing");
  }
  LATHE_TRY_VOID(reader.verdict());
  return message;
}

bool is_name_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Whether the template reads a variable of that name: the whole word occurs in it.
bool mentions(const std::string& source, std::string_view name) {
  for (std::size_t at = source.find(name); at != source.npos; at = source.find(name, at + 1)) {
    const bool begins = at == 0 || !is_name_character(source[at - 1]);
    const std::size_t end = at + name.size();
    if (begins && (end == source.size() || !is_name_character(source[end]))) return true;
  }
  return false;
}

void read_variables(FieldReader& body, const std::string& source, Json& variables) {
  const Json* given = body.object("chat_template_kwargs");
  if (given == nullptr) return;
  for (const auto& [name, value] : given->items()) {
    const bool reserved = std::find(kReservedVariables.begin(), kReservedVariables.end(), name) != kReservedVariables.end();
    if (reserved || name.empty() || !mentions(source, name)) {
      body.refuse("chat_template_kwargs",
                  "\"" + printable(name, 40) + "\" is not a variable that this model's chat template offers");
      return;
    }
    variables[name] = value;
  }
}

}  // namespace

engine::Result<std::vector<engine::TextSpan>> read_chat_prompt(FieldReader& body, const engine::Engine& engine) {
  const engine::ChatTemplate* chat_template = engine.chat_template();
  if (chat_template == nullptr) {
    return engine::fail(ErrorCode::invalid_argument, "this model has no chat template; send a prompt to /v1/completions",
                        "messages");
  }
  const Json* messages = body.array("messages");
  if (messages == nullptr || messages->empty()) body.refuse("messages", "must be a list of at least one message");
  engine::ChatRenderOptions options;
  const auto add_generation_prompt = body.flag("add_generation_prompt");
  options.continue_final_message = body.flag("continue_final_message").value_or(false);
  options.add_generation_prompt = add_generation_prompt.value_or(!options.continue_final_message);
  if (options.continue_final_message && options.add_generation_prompt) {
    body.refuse("continue_final_message", "excludes add_generation_prompt");
  }
  read_variables(body, chat_template->source(), options.variables);
  LATHE_TRY_VOID(body.verdict());

  std::vector<ChatMessage> read;
  for (std::size_t i = 0; i < messages->size(); ++i) {
    LATHE_TRY(ChatMessage message, read_message((*messages)[i], "messages[" + std::to_string(i) + "]"));
    read.push_back(std::move(message));
  }
  auto spans = chat_template->render(read, options);
  if (!spans) {
    // The template is the model author's program: whatever it objects to is an objection to this request.
    return engine::fail(ErrorCode::invalid_argument,
                        "the chat template refuses these messages: " + printable(spans.error().message, 600), "messages");
  }
  return spans;
}

}  // namespace lathe::app::openai
