// SPDX-License-Identifier: Apache-2.0
// Chat templates of a model: one for chats with tools and one for chats without.
#include <fmt/format.h>

#include "engine/api/chat.h"

namespace lathe::engine {
namespace {

/// Selects one of two templates by whether the chat has tools; either may be null.
class TemplateByTools final : public ChatTemplate {
 public:
  TemplateByTools(std::unique_ptr<ChatTemplate> plain, std::unique_ptr<ChatTemplate> with_tools, std::string names)
      : plain_(std::move(plain)), with_tools_(std::move(with_tools)), names_(std::move(names)) {}

  Result<std::vector<TextSpan>> render(const std::vector<ChatMessage>& messages,
                                       const ChatRenderOptions& options) const override {
    if (const ChatTemplate* chosen = choose(!options.tools.is_null())) return chosen->render(messages, options);
    return fail(ErrorCode::invalid_argument,
                fmt::format("none of the model's chat templates ({}) is for chats without tools; choose one with "
                            "--chat-template when the model is loaded",
                            names_),
                "chat_template");
  }

  const std::string& source(bool has_tools) const override {
    const ChatTemplate* chosen = choose(has_tools);
    return chosen != nullptr ? chosen->source(has_tools) : none_;
  }

 private:
  const ChatTemplate* choose(bool has_tools) const { return has_tools && with_tools_ ? with_tools_.get() : plain_.get(); }

  std::unique_ptr<ChatTemplate> plain_, with_tools_;
  std::string names_, none_;
};

}  // namespace

CompiledTemplates compile_chat_templates(const NamedTemplates& templates, const ChatTemplateNames& names) {
  CompiledTemplates made;
  const auto compile = [&](std::string_view name) -> std::unique_ptr<ChatTemplate> {
    const std::string* source = templates.find(name);
    if (source == nullptr) return nullptr;
    auto compiled = compile_chat_template(*source, names);
    if (compiled) return std::move(*compiled);
    if (templates.all().size() > 1) compiled.error().message += fmt::format(" (the template named {})", name);
    made.errors.push_back(std::move(compiled.error()));
    return nullptr;
  };
  auto plain = compile(NamedTemplates::kDefault), with_tools = compile(NamedTemplates::kToolUse);
  made.has_plain = plain != nullptr;
  if (with_tools) {
    made.chat = std::make_unique<TemplateByTools>(std::move(plain), std::move(with_tools), templates.names());
  } else {
    made.chat = std::move(plain);
  }
  return made;
}

}  // namespace lathe::engine
