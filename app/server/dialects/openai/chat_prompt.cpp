// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/chat_prompt.h"

#include <algorithm>
#include <array>

#include "app/log/printable.h"
#include "app/server/dialects/openai/chat_messages.h"

namespace lathe::app::openai {
namespace {

using engine::ErrorCode;
using engine::Json;

constexpr std::array<std::string_view, 7> kEfforts = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};

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

/// "reasoning_effort" is a variable of templates that have one, and switches thinking on or off where that is one: as vLLM
/// has it.
void read_effort(FieldReader& body, const std::string& source, Json& variables) {
  const auto effort = body.text("reasoning_effort");
  if (!effort) return;
  if (std::find(kEfforts.begin(), kEfforts.end(), *effort) == kEfforts.end()) {
    body.refuse("reasoning_effort", "must be none, minimal, low, medium, high, xhigh or max");
    return;
  }
  const auto set = [&](const char* name, Json value) {
    if (mentions(source, name) && !variables.contains(name)) variables[name] = std::move(value);
  };
  set("reasoning_effort", *effort);
  set("enable_thinking", *effort != "none");
}

}  // namespace

engine::Result<std::vector<engine::TextSpan>> read_chat_prompt(FieldReader& body, engine::OrderedJson tools,
                                                               const engine::Engine& engine) {
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
  options.tools = std::move(tools);
  const std::string& source = chat_template->source(!options.tools.is_null());
  read_variables(body, source, options.variables);
  read_effort(body, source, options.variables);
  LATHE_TRY_VOID(body.verdict());

  LATHE_TRY(const std::vector<engine::ChatMessage> read, read_chat_messages(*messages));
  auto spans = chat_template->render(read, options);
  if (!spans) {
    // The template is the model author's program: whatever it objects to is an objection to this request.
    return engine::fail(ErrorCode::invalid_argument,
                        "the chat template refuses these messages: " + printable(spans.error().message, 600), "messages");
  }
  return spans;
}

}  // namespace lathe::app::openai
