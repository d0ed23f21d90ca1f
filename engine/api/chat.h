// SPDX-License-Identifier: Apache-2.0
// Chat messages, and the chat template that renders them to a prompt.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/named_templates.h"
#include "engine/api/result.h"
#include "engine/api/tokenizer.h"

namespace lathe::engine {

struct ToolCall {
  std::string name;
  std::string arguments;  ///< the text of a JSON object; JSON of a model is unchanged unless a key is doubled
  std::string id;         ///< empty: the call has no id
};

/// A message of a request. None of its texts becomes a control token. Requires: UTF-8.
struct ChatMessage {
  std::string role;  ///< "system", "user", "assistant", "tool"
  std::string content{};
  /// The texts of a content that came as a list, for templates that iterate over content; `content` has them as lines.
  std::vector<std::string> parts{};
  /// Calls of an assistant. Templates get the arguments as the parsed JSON value; {} if they are not JSON, as in vLLM.
  std::vector<ToolCall> tool_calls{};
  std::string tool_call_id{};  ///< id of the call whose result this message is; role "tool"
  std::string name{};
  std::string reasoning{};  ///< reasoning of an assistant; templates get it as "reasoning_content" and as "reasoning"
};

struct ChatRenderOptions {
  bool add_generation_prompt = true;
  bool continue_final_message = false;  ///< the last message is open: no end marker, no generation prompt
  Json variables = Json::object();      ///< chat_template_kwargs
  OrderedJson tools{};                  ///< OpenAI's list of tools, in the order in which the model sees it; or null
};

/// A compiled chat template. Immutable. Thread: any.
class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  /// Spans whose joined texts are the prompt; spans that come from messages have parse_special = false.
  /// Errors: invalid_argument with the template's own message, or line and column.
  virtual Result<std::vector<TextSpan>> render(const std::vector<ChatMessage>& messages,
                                               const ChatRenderOptions& options) const = 0;
  /// The text of the template that a chat with or without tools gets; empty: there is no template for such a chat.
  virtual const std::string& source(bool has_tools) const = 0;
};

struct ChatTemplateNames {
  std::string bos_token, eos_token, unk_token, pad_token;
};
/// Errors: model_refused with line and column.
Result<std::unique_ptr<ChatTemplate>> compile_chat_template(std::string source, ChatTemplateNames names);

/// Compiled chat templates, for chats with and without tools.
struct CompiledTemplates {
  std::unique_ptr<ChatTemplate> chat;  ///< null: no template is for chats, or none compiles
  bool has_plain = false;              ///< there is a template for chats without tools
  std::vector<Error> errors;           ///< compile_chat_template's errors for templates that are left out
};
/// Compiles the templates that NamedTemplates::choose returns. render() refuses a chat for which there is no template, and
/// lists the names of all templates.
CompiledTemplates compile_chat_templates(const NamedTemplates& templates, const ChatTemplateNames& names);

/// The joined texts of the spans.
std::string joined(const std::vector<TextSpan>& spans);

}  // namespace lathe::engine
