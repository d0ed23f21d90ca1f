// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/chat_prompt.h"

#include <algorithm>
#include <array>

#include "app/log/printable.h"
#include "app/server/generate/template_variables.h"
#include "app/server/generate/thinking_fields.h"
#include "engine/api/generic_tools.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;

/// Variables that the server passes to templates; a request may not set them.
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

/// True if the variable has no effect: null, or switching thinking off in a model that does not think.
bool asks_for_nothing(std::string_view name, const Json& value, bool thinks) {
  return value.is_null() || (!thinks && value == false && (name == "enable_thinking" || name == "thinking"));
}

/// Reads "chat_template_kwargs". Unknown names get a warning only, as in vLLM.
void read_variables(RequestFields& body, const std::string& source, bool thinks, Json& variables) {
  const Json* given = body.object("chat_template_kwargs");
  if (given == nullptr) return;
  for (const auto& [name, value] : given->items()) {
    const bool reserved = std::find(kReservedVariables.begin(), kReservedVariables.end(), name) != kReservedVariables.end();
    const std::string path = "chat_template_kwargs." + printable(name, 40);
    if (reserved) return body.refuse(path, "is a variable of the chat template that only the server sets");
    if (reads_variable(source, name)) variables[name] = value;
    else if (!asks_for_nothing(name, value, thinks)) body.warn(path, "is not used by this model's chat template");
  }
}

}  // namespace

engine::Result<std::vector<engine::TextSpan>> read_chat_prompt(RequestFields& body, engine::OrderedJson tools,
                                                               const MessageReader& read_messages,
                                                               const engine::Engine& engine) {
  const engine::ChatTemplate* chat_template = engine.chat_template();
  if (chat_template == nullptr) {
    return engine::fail(ErrorCode::invalid_argument,
                        printable(engine.model().no_chat_text(), 600) + "; send a prompt to /v1/completions", "messages");
  }
  engine::ChatRenderOptions options;
  const auto add_generation_prompt = body.flag("add_generation_prompt");
  options.continue_final_message = body.flag("continue_final_message").value_or(false);
  options.add_generation_prompt = add_generation_prompt.value_or(!options.continue_final_message);
  if (options.continue_final_message && options.add_generation_prompt) {
    body.refuse("continue_final_message", "cannot be combined with add_generation_prompt");
  }
  options.tools = std::move(tools);
  const bool is_generic = engine::has_generic_tools(engine), has_tools = !options.tools.is_null() && !is_generic;
  const engine::LoadedModel& model = engine.model();
  const bool thinks = !(has_tools ? model.answer_formats_with_tools : model.answer_formats).reasoning.empty();
  const std::string& source = chat_template->source(has_tools);
  if (body.flag("add_special_tokens").value_or(false))
    body.warn("add_special_tokens", "has no effect on a chat, and was ignored: the chat template writes the special tokens");
  read_variables(body, source, thinks, options.variables);
  read_thinking(body, thinks, source, options.variables);
  LATHE_TRY_VOID(body.verdict());

  LATHE_TRY(const std::vector<engine::ChatMessage> read, read_messages(body));
  auto spans = is_generic && engine::needs_generic_tools(read, options)
                   ? engine::render_generic_tools(*chat_template, read, options)
                   : chat_template->render(read, options);
  if (!spans) {
    // The template is a program of the model's author: its errors are errors of this request.
    return engine::fail(ErrorCode::invalid_argument,
                        "the chat template refuses these messages: " + printable(spans.error().message, 600), "messages");
  }
  return spans;
}

}  // namespace lathe::app
