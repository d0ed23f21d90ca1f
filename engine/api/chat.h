// SPDX-License-Identifier: Apache-2.0
// Chat messages and the template that turns them into a prompt.
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
  std::string arguments;  ///< the text of a JSON object; where the model wrote JSON, byte for byte what it wrote
  std::string id;         ///< empty where there is none
};

/// All texts are the request's: none becomes a control token. Requires: UTF-8.
struct ChatMessage {
  std::string role;  ///< "system", "user", "assistant", "tool"
  std::string content{};
  /// Of a content that came as a list of texts, which `content` has as lines: templates that walk over lists get this one.
  std::vector<std::string> parts{};
  /// Of an assistant. Templates get arguments as the value that their JSON spells; {} where they are no JSON, as with vLLM.
  std::vector<ToolCall> tool_calls{};
  std::string tool_call_id{};  ///< of a tool: which call this is the result of
  std::string name{};
  std::string reasoning{};  ///< of an assistant; templates get it as "reasoning_content" and as "reasoning"
};

struct ChatRenderOptions {
  bool add_generation_prompt = true;
  bool continue_final_message = false;  ///< the last message is open: no end marker, no generation prompt
  Json variables = Json::object();      ///< chat_template_kwargs
  OrderedJson tools{};                  ///< a list as OpenAI has it, in the order in which it is shown to the model; or null
};

/// A compiled chat template. Immutable. Thread: any.
class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  /// Spans whose texts join to the prompt; those that come from messages have parse_special = false.
  /// Errors: invalid_argument with the template's own message, or line and column.
  virtual Result<std::vector<TextSpan>> render(const std::vector<ChatMessage>& messages,
                                               const ChatRenderOptions& options) const = 0;
  /// The text of the template that a chat with or without tools gets; empty where there is none for it.
  virtual const std::string& source(bool has_tools) const = 0;
};

struct ChatTemplateNames {
  std::string bos_token, eos_token, unk_token, pad_token;
};
/// Errors: model_refused with line and column.
Result<std::unique_ptr<ChatTemplate>> compile_chat_template(std::string source, ChatTemplateNames names);

/// Chat templates of which each chat gets its own.
struct CompiledTemplates {
  std::unique_ptr<ChatTemplate> chat;  ///< null: none is for chats, or none compiles
  bool has_plain = false;              ///< one is for chats without tools
  std::vector<Error> errors;           ///< those of compile_chat_template, of templates that are left out
};
/// Compiles those that NamedTemplates::choose gives out. A chat that has no template is refused by render() with their
/// names.
CompiledTemplates compile_chat_templates(const NamedTemplates& templates, const ChatTemplateNames& names);

/// Text of the spans, joined.
std::string joined(const std::vector<TextSpan>& spans);

}  // namespace lathe::engine
